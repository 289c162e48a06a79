import { type Journeys, newThread, said, type Twin, waited } from "./twin.ts";

const journeys: Journeys = {};

const graphIds = [
  "echo",
  "tools",
  "approval",
  "questions",
  "nested",
  "mapped",
  "configured",
  "steps",
  "routed",
];

async function assistantOf({ client }: Twin, graphId: string): Promise<string> {
  const [assistant] = await client.assistants.search({ graphId, limit: 1 });
  return assistant!.assistant_id;
}

for (const graphId of graphIds) {
  journeys[`the drawing of ${graphId}`] = async (twin) => {
    const id = await assistantOf(twin, graphId);
    return {
      plain: drawn(await twin.client.assistants.getGraph(id)),
      xray: drawn(await twin.client.assistants.getGraph(id, { xray: true })),
      one: drawn(await twin.client.assistants.getGraph(id, { xray: 1 })),
    };
  };
  journeys[`the schemas of ${graphId}`] = async (twin) =>
    twin.client.assistants.getSchemas(await assistantOf(twin, graphId));
}

/** Edges in the order of their names: a drawing has none. */
function drawn({ nodes, edges }: { nodes: object[]; edges: object[] }) {
  const inOrder = (list: object[]) => list.map((one) => JSON.stringify(one)).sort();
  return { nodes: inOrder(nodes).map(parsed), edges: inOrder(edges).map(parsed) };
}
const parsed = (text: string): unknown => JSON.parse(text);

journeys["the subgraphs of nested"] = async (twin) => {
  const id = await assistantOf(twin, "nested");
  return {
    direct: await twin.client.assistants.getSubgraphs(id),
    all: await twin.client.assistants.getSubgraphs(id, { recurse: true }),
    named: await twin.client.assistants.getSubgraphs(id, { namespace: "middle" }),
    inner: await twin.client.assistants.getSubgraphs(id, { namespace: "middle|inner" }),
    missing: await twin.client.assistants.getSubgraphs(id, { namespace: "nobody" }),
  };
};

journeys["context and config of a run and of an assistant"] = async (twin) => {
  const assistant = await twin.client.assistants.create({
    graphId: "configured",
    context: { model: "large" },
    name: "Large",
    metadata: { kind: "twin" },
  });
  const run = async (options: object, assistantId = "configured") =>
    waited(twin, await newThread(twin), assistantId, { input: {}, ...options });
  const seen = {
    none: await run({}),
    context: await run({ context: { model: "small", temperature: 0.5 } }),
    configurable: await run({ config: { configurable: { own: "mine" } } }),
    both: await run({ config: { configurable: { own: "mine", model: "other" } } }),
    unknown: await run({ context: { model: "small", nobody: "asked" } }),
    assistant: await run({}, assistant.assistant_id),
    over: await run({ context: { temperature: 2 } }, assistant.assistant_id),
    assistantRow: assistant,
  };
  await twin.client.assistants.delete(assistant.assistant_id);
  return seen;
};

journeys["crons and runs in the background"] = async (twin) => {
  const { client } = twin;
  const cron = await client.crons.create("steps", { schedule: "0 0 1 1 *", input: { note: "later" } });
  const found = await client.crons.search({ assistantId: await assistantOf(twin, "steps") });
  await client.crons.delete((cron as { cron_id: string }).cron_id);
  const threadId = await newThread(twin);
  const { run_id } = await client.runs.create(threadId, "echo", {
    input: said("hi", "first"),
    metadata: { mine: 1 },
  });
  await client.runs.join(threadId, run_id);
  return { cron, found: found.length, run: await client.runs.get(threadId, run_id) };
};

journeys["a batch of runs without threads"] = async (twin) =>
  twin.client.runs.wait(null, "mapped", { input: { items: [2] } });

journeys["tools of MCP"] = async ({ url }) => {
  const ask = async (method: string, params: object) => {
    const response = await fetch(`${url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return (await response.json()) as { result: { tools?: { name: string }[] } };
  };
  const { result } = await ask("tools/list", {});
  return {
    tools: result.tools!.sort((left, right) => (left.name < right.name ? -1 : 1)),
    called: await ask("tools/call", { name: "mapped", arguments: { items: [1, 2] } }),
    spoken: await ask("tools/call", { name: "echo", arguments: said("hi", "first") }),
    failed: await ask("tools/call", { name: "failing", arguments: {} }),
    asked: await ask("tools/call", { name: "approval", arguments: { subject: "go" } }),
  };
};

journeys["a conversation over A2A"] = async (twin) => {
  const id = await assistantOf(twin, "tools");
  const card = await fetch(`${twin.url}/.well-known/agent-card.json?assistant_id=${id}`);
  const ask = async (assistantId: string, params: object, method = "message/send") => {
    const response = await fetch(`${twin.url}/a2a/${assistantId}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const text = await response.text();
    return text.startsWith("{") ? JSON.parse(text) : eventsOf(text);
  };
  const message = (part: object) => ({
    message: { role: "user", kind: "message", messageId: "m1", parts: [part] },
  });
  const text = { kind: "text", text: "hi" };
  return {
    card: await card.json(),
    spoken: await ask(id, message(text)),
    streamed: await ask(id, message(text), "message/stream"),
    asked: await ask(await assistantOf(twin, "approval"), message({ kind: "data", data: { subject: "go" } })),
    failed: await ask(await assistantOf(twin, "failing"), message({ kind: "data", data: {} })),
  };
};

function eventsOf(text: string): unknown[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => JSON.parse(line.slice(5)));
}

export const aroundJourneys = journeys;
