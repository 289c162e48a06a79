import { fileURLToPath } from "node:url";
import { createAgentGraph } from "./agent-graph.ts";
import type { AnyGraph } from "./any-graph.ts";
import { createApprovalGraph } from "./approval-graph.ts";
import { createChatModels, type FindModelKey, parseModelName } from "./chat-models.ts";
import type { ConnectedAccounts } from "./connected-accounts.ts";
import { createEchoGraph } from "./echo-graph.ts";

export type BuiltinGraphsOptions = {
  /** Where keys of real models are looked for. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** Where the keys are that workspaces keep themselves. */
  findModelKey?: FindModelKey;
  now?: () => Date;
  /** Left out: the agent has no tool for people's accounts. */
  accounts?: ConnectedAccounts;
};

export type BuiltinGraph = { graphId: string; description: string; graph: AnyGraph };

/** The graphs every server has: they need no key and no network. */
export function builtinGraphs(options: BuiltinGraphsOptions = {}): BuiltinGraph[] {
  const models = createChatModels({
    environment: options.environment ?? {},
    findKey: options.findModelKey,
    resolveFrom: fileURLToPath(import.meta.url),
  });
  const now = options.now ?? (() => new Date());
  const agent = createAgentGraph(models, now, options.accounts);
  return [
    {
      graphId: "agent",
      description: "A helpful agent with tools, a research subagent and visible reasoning.",
      graph: agent as unknown as AnyGraph,
    },
    {
      graphId: "echo",
      description: "Repeats the message it gets.",
      graph: createEchoGraph() as unknown as AnyGraph,
    },
    {
      graphId: "approval",
      description: "Asks a person before it acts.",
      graph: createApprovalGraph() as unknown as AnyGraph,
    },
  ];
}

/** Throws where an assistant of the graph `agent` names a model that there is not. */
export function checkAgentSettings(graphId: string, settings: Readonly<Record<string, unknown>>): void {
  if (graphId === "agent" && typeof settings.model_name === "string") parseModelName(settings.model_name);
}
