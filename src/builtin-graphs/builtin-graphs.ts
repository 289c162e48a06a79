import { fileURLToPath } from "node:url";
import { type GraphKit, loadServerKit } from "../agent-server/graphs/javascript/graph-kit.ts";
import {
  type CompiledGraph,
  fixedGraph,
  type LoadedGraph,
} from "../agent-server/graphs/javascript/loaded-graph.ts";
import { createAgentGraph } from "./agent-graph.ts";
import { createApprovalGraph } from "./approval-graph.ts";
import { createChatModels } from "./chat-models.ts";
import type { ConnectedAccounts } from "./connected-accounts.ts";
import { createEchoGraph } from "./echo-graph.ts";

export type BuiltinGraphsOptions = {
  /** Where keys of real models are looked for. */
  environment?: Readonly<Record<string, string | undefined>>;
  now?: () => Date;
  /** Left out: the agent has no tool for people's accounts. */
  accounts?: ConnectedAccounts;
};

export type BuiltinGraphs = { graphs: Map<string, LoadedGraph>; kit: GraphKit };

/** The graphs every server has: they need no key and no network. */
export async function builtinGraphs(options: BuiltinGraphsOptions = {}): Promise<BuiltinGraphs> {
  const kit = await loadServerKit();
  const models = createChatModels({
    environment: options.environment ?? {},
    resolveFrom: fileURLToPath(import.meta.url),
  });
  const now = options.now ?? (() => new Date());
  const make = (graphId: string, description: string, graph: unknown): [string, LoadedGraph] => {
    const source = { graphId, description, file: undefined, exportName: graphId };
    return [graphId, fixedGraph(source, graph as CompiledGraph, kit)];
  };
  const graphs = new Map([
    make(
      "agent",
      "A helpful agent with tools, a research subagent and visible reasoning.",
      createAgentGraph(models, now, options.accounts),
    ),
    make("echo", "Answers what it was told.", createEchoGraph()),
    make("approval", "Asks a person before it acts.", createApprovalGraph()),
  ]);
  return { graphs, kit };
}
