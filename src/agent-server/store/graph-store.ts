import type { BaseStore } from "@langchain/langgraph-checkpoint";
import type { GraphKit } from "../graphs/graph-kit.ts";

/** Gives graphs the long-term store of their workspace. */
export type StoreFactory = {
  forWorkspace(kit: GraphKit, workspaceId: string): BaseStore | undefined;
};
