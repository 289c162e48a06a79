import { Annotation, START, StateGraph } from "@langchain/langgraph";

/** Declares what src/profile.py keeps, reads it, and writes something else. */
const State = Annotation.Root({
  profile: Annotation<{ name: string; born: string }>,
  found: Annotation<string[]>,
  turns: Annotation<number>,
});

export const graph = new StateGraph(State)
  .addNode("read", ({ profile, turns }) => ({ found: [profile.name, profile.born], turns: (turns ?? 0) + 1 }))
  .addEdge(START, "read")
  .compile();
