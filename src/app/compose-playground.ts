import { fileURLToPath } from "node:url";
import { createChatModels } from "../builtin-graphs/chat-models.ts";
import { openModelCall } from "../builtin-graphs/model-call.ts";
import { providerKeys } from "../config/index.ts";
import type { PlaygroundPorts } from "../console/playground-service.ts";
import type { Traces } from "../traces/traces.ts";
import type { Workspaces } from "../workspaces/workspaces.ts";
import type { Ground } from "./ground.ts";

/** Models asked by hand, with the keys of the workspace that asks. */
export function composePlayground(
  { config, clock }: Pick<Ground, "config" | "clock">,
  { workspaces, traces }: { workspaces: Workspaces; traces: Traces },
): PlaygroundPorts {
  const models = createChatModels({
    environment: providerKeys(),
    resolveFrom: fileURLToPath(import.meta.url),
    findKey: async (configurable, provider) =>
      workspaces.modelKeys.find(String(configurable?.workspaceId), provider),
  });
  return {
    clock,
    openModel: (call) => openModelCall(models, call),
    ...(config.tracing ? { trace: (place, span) => traces.spans.record(place, "post", span) } : {}),
  };
}
