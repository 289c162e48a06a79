import type { StreamMode } from "@langchain/langgraph-sdk";
import { type Journeys, newThread, said, streamed, type Twin, told } from "./twin.ts";

const modes: StreamMode[] = [
  "values",
  "updates",
  "messages",
  "messages-tuple",
  "custom",
  "tasks",
  "checkpoints",
  "debug",
  "events",
  "tools" as StreamMode,
];

/** Each graph in each mode; those that ask stop there. */
const graphs: Record<string, object> = {
  echo: said("hi", "first"),
  tools: said("the weather?", "first"),
  approval: { subject: "go" },
  questions: { answers: [] },
  nested: { subject: "stay" },
  mapped: { items: [1, 2, 3] },
  reporting: {},
  failing: {},
  configured: {},
  steps: { note: "x" },
  routed: { way: "right" },
};

const journeys: Journeys = {};

for (const [graphId, input] of Object.entries(graphs))
  for (const streamMode of modes)
    journeys[`${graphId} streams ${streamMode}`] = async (twin) =>
      streamed(twin, graphId, { threadId: await newThread(twin), input, streamMode: [streamMode] });

for (const streamMode of modes)
  journeys[`nested streams ${streamMode} of its subgraphs`] = async (twin) => {
    const run = { threadId: await newThread(twin), streamMode: [streamMode], streamSubgraphs: true };
    return {
      asked: await streamed(twin, "nested", { ...run, input: { subject: "stay" } }),
      answered: await streamed(twin, "nested", { ...run, command: { resume: "yes" } }),
    };
  };

journeys["several modes at once keep their order"] = (twin) =>
  streamed(twin, "tools", {
    input: said("the weather?", "first"),
    streamMode: ["values", "updates", "messages", "messages-tuple", "custom", "tasks"],
  });

journeys["one mode by its name alone"] = (twin) =>
  streamed(twin, "steps", { input: {}, streamMode: "updates" });

journeys["a run without a thread"] = (twin) =>
  streamed(twin, "echo", { input: said("hi", "first"), streamMode: ["values"] });

for (const streamMode of ["messages", "messages-tuple"] as const)
  journeys[`many and long tokens: ${streamMode}`] = async (twin) =>
    streamed(twin, "tokens", { input: said("go", "first"), streamMode: [streamMode] });

journeys["a run that is joined later tells all of it again"] = async (twin) => {
  const threadId = await newThread(twin);
  const options = { input: said("hi", "first"), streamMode: ["values", "updates"], streamResumable: true };
  const { run_id } = await twin.client.runs.create(threadId, "echo", options as never);
  await twin.client.runs.join(threadId, run_id);
  return {
    all: await told(joined(twin, threadId, run_id, "-1")),
    rest: await told(joined(twin, threadId, run_id, "1")),
  };
};

function joined({ client }: Twin, threadId: string, runId: string, lastEventId: string) {
  return client.runs.joinStream(threadId, runId, { lastEventId }) as AsyncIterable<never>;
}

export const streamJourneys = journeys;
