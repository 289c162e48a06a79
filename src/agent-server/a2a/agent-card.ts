import type { Assistant } from "../assistants/assistant.ts";

export const a2aProtocolVersion = "0.3.0";

/** An assistant's card for other agents. */
export function toAgentCard(
  assistant: Pick<Assistant, "assistant_id" | "graph_id" | "name" | "version" | "description">,
  details: { url: string; graphDescription: string | undefined; takesMessages: boolean },
) {
  const description =
    assistant.description ?? details.graphDescription ?? `The assistant "${assistant.name}".`;
  const inputModes = details.takesMessages ? ["text/plain", "application/json"] : ["application/json"];
  const outputModes = ["text/plain", "application/json"];
  return {
    protocolVersion: a2aProtocolVersion,
    name: assistant.name,
    description,
    url: details.url,
    preferredTransport: "JSONRPC",
    // Clients of 1.0 look here, those of 0.3 above; each passes over what is the other's.
    supportedInterfaces: ["1.0", "0.3"].map((protocolVersion) => ({
      url: details.url,
      protocolBinding: "JSONRPC",
      protocolVersion,
    })),
    version: String(assistant.version),
    capabilities: {
      streaming: true,
      pushNotifications: false,
      stateTransitionHistory: false,
      extendedAgentCard: false,
    },
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    skills: [
      {
        id: assistant.assistant_id,
        name: assistant.name,
        description,
        tags: ["assistant", assistant.graph_id],
        inputModes,
        outputModes,
      },
    ],
    securitySchemes: {
      apiKey: {
        type: "apiKey",
        in: "header",
        name: "X-Api-Key",
        apiKeySecurityScheme: { location: "header", name: "X-Api-Key" },
      },
    },
    supportsAuthenticatedExtendedCard: false,
  };
}
