import { randomUUID } from "node:crypto";
import { readEvents, sendCommand } from "../../support/protocol-client.ts";
import { isTerminal, type WireEvent } from "../../support/protocol-events.ts";
import { type Journeys, said, type Twin } from "./twin.ts";

const journeys: Journeys = {};

const graphs: Record<string, object> = {
  echo: said("hi", "first"),
  tools: said("the weather?", "first"),
  approval: { subject: "go" },
  questions: { answers: [] },
  nested: { subject: "stay" },
  mapped: { items: [1, 2, 3] },
  reporting: {},
  failing: {},
  steps: { note: "x" },
  routed: { way: "right" },
};

/** From the start of the thread, until as many of its runs have ended. */
function events({ url }: Twin, threadId: string, runs = 1): Promise<WireEvent[]> {
  return readEvents(url, threadId, (seen) => seen.filter(isTerminal).length === runs);
}

function start({ url }: Twin, threadId: string, graphId: string, input: unknown) {
  return sendCommand(url, threadId, "run.start", { assistant_id: graphId, input });
}

for (const [graphId, input] of Object.entries(graphs))
  journeys[`${graphId} over the streaming protocol`] = async (twin) => {
    const threadId = randomUUID();
    const answer = await start(twin, threadId, graphId, input);
    return { answer, events: await events(twin, threadId) };
  };

journeys["a message that no model said is told in the namespace of its node"] = async (twin) => {
  const threadId = randomUUID();
  await start(twin, threadId, "echo", said("hi", "first"));
  const spoken = (await events(twin, threadId)).filter(({ method }) => method === "messages");
  return spoken.map(({ params }) => params.namespace.map((segment) => segment.split(":")[0]));
};

for (const graphId of ["approval", "nested"])
  journeys[`${graphId} is answered over the streaming protocol`] = async (twin) => {
    const threadId = randomUUID();
    await start(twin, threadId, graphId, { subject: "go" });
    const asked = (await events(twin, threadId)).find(({ method }) => method === "input.requested")!;
    const { interrupt_id } = asked.params.data as { interrupt_id: string };
    const { namespace } = asked.params;
    const params = { namespace, interrupt_id, response: "yes" };
    const answer = await sendCommand(twin.url, threadId, "input.respond", params);
    const all = await events(twin, threadId, 2);
    const state = await sendCommand(twin.url, threadId, "state.get", { namespace: [] });
    const tree = await sendCommand(twin.url, threadId, "agent.getTree", {});
    return { answer, all, state, tree };
  };

journeys["a thread of the client's own streaming API"] = async (twin) => {
  const stream = twin.client.threads.stream(randomUUID(), { assistantId: "tools" });
  try {
    // Subscribed before the run: a subscription made after its end receives nothing.
    const messages = texts(stream.messages, 2);
    await stream.run.start({ input: said("the weather?", "first") });
    return { messages: await messages, output: await stream.output };
  } finally {
    await stream.close();
  }
};

async function texts(
  messages: AsyncIterable<{ text: PromiseLike<string> }>,
  count: number,
): Promise<string[]> {
  const all: string[] = [];
  for await (const { text } of messages) {
    all.push(await text);
    if (all.length === count) break;
  }
  return all;
}

export const protocolJourneys = journeys;
