import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";

/**
 * What the graph library takes for an echo run by itself, with its own saver in memory: the floor of any server.
 * `npm run bench -- graph-library [RUNS]`, or `node --cpu-prof bench/graph-library.ts` for where it goes.
 */
const runs = Number(process.argv[2] ?? 3_000);
const saver = new MemorySaver();
const graph = new StateGraph(MessagesAnnotation)
  .addNode("echo", ({ messages }) => ({
    messages: [{ role: "assistant", content: String(messages.at(-1)!.content) }],
  }))
  .addEdge("__start__", "echo")
  .addEdge("echo", "__end__")
  .compile({ checkpointer: saver });

async function run(thread_id: string): Promise<void> {
  const input = { messages: [{ role: "user", content: "again" }] };
  const events = await graph.stream(input, {
    configurable: { thread_id },
    streamMode: ["values", "updates"],
  });
  for await (const event of events) if (!event) throw new Error("An event is empty.");
}

async function measure(count: number): Promise<number> {
  const before = process.cpuUsage();
  for (let index = 0; index < count; index += 1) {
    await run(`thread-${index}`);
    if (index % 500 === 0) saver.storage = {};
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / count;
}

await measure(500);
console.log(`${(await measure(runs)).toFixed(2)} ms of processor time per run`);
