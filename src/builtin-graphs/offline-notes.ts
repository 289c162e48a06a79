type Note = { title: string; words: readonly string[]; text: string };

/** What the offline model can look up. Short on purpose: it is a demonstration, and its answers state that. */
const notes: readonly Note[] = [
  {
    title: "Durable execution",
    words: ["durable", "execution", "checkpoint", "crash", "resume", "recovery"],
    text: "A run saves a checkpoint after each step. After a crash another worker picks it up at the last one, so finished steps are not repeated.",
  },
  {
    title: "Streaming",
    words: ["stream", "streaming", "sse", "tokens", "events", "websocket"],
    text: "Tokens, tool calls and state changes are sent while the run goes on; a client that lost the connection asks for what came after the last event it saw.",
  },
  {
    title: "Human in the loop",
    words: ["human", "loop", "interrupt", "approval", "approve", "review"],
    text: "A graph can stop at an interrupt, wait for a person as long as needed, and go on with the answer.",
  },
  {
    title: "Agents and tools",
    words: ["agent", "agents", "tool", "tools", "react", "model", "llm"],
    text: "An agent is a loop: the model chooses tools, the tools answer, and the model goes on until it can reply.",
  },
  {
    title: "Subagents",
    words: ["subagent", "subagents", "multi", "delegate", "research", "supervisor"],
    text: "A subagent gets one task and a context of its own, and hands back a summary; the main conversation stays short.",
  },
  {
    title: "Tracing",
    words: ["trace", "traces", "tracing", "observability", "debug", "parquet", "export"],
    text: "Every run leaves a tree of spans with inputs, outputs, times and tokens, which can be searched and exported as Parquet.",
  },
  {
    title: "Deployments",
    words: ["deploy", "deployment", "deployments", "revision", "rollout", "git", "build"],
    text: "A deployment builds an agent from git as a revision, starts it beside the old one and moves the traffic once it is healthy.",
  },
];

export function searchNotes(query: string): string {
  const asked = new Set(query.toLowerCase().match(/\p{L}+/gu) ?? []);
  const found = notes
    .map((note) => ({ note, hits: note.words.filter((word) => asked.has(word)).length }))
    .filter(({ hits }) => hits > 0)
    .sort((left, right) => right.hits - left.hits)
    .slice(0, 3);
  if (found.length === 0) {
    const titles = notes.map((note) => note.title.toLowerCase()).join(", ");
    return `The offline notes hold nothing on "${query}". They cover ${titles}.`;
  }
  return found.map(({ note }) => `- **${note.title}:** ${note.text}`).join("\n");
}
