import type { Pregel } from "@langchain/langgraph/pregel";

/** Any compiled graph. */
// biome-ignore lint/suspicious/noExplicitAny: Pregel's parameters are invariant, no narrower type accepts every graph.
export type AnyGraph = Pregel<any, any, Record<string, unknown>, any, any>;
