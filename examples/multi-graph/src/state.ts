import { Annotation, MessagesAnnotation } from "@langchain/langgraph";

/** Both graphs have the same state, so the second one goes on where the first stopped on a thread. */
export const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  notes: Annotation<string[]>({ reducer: (left, right) => left.concat(right), default: () => [] }),
});
