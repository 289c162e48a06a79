import type { AIMessage, AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { Command, MemorySaver } from "@langchain/langgraph";
import { beforeAll, describe, expect, test } from "vitest";
import type { CompiledGraph } from "../agent-server/graphs/javascript/loaded-graph.ts";
import { withPersistence } from "../agent-server/graphs/javascript/with-persistence.ts";
import { type BuiltinGraph, builtinGraphs } from "./builtin-graphs.ts";
import { createChatModels, parseModelName } from "./chat-models.ts";

let builtin: BuiltinGraph[];
beforeAll(() => {
  builtin = builtinGraphs({ now: () => new Date("2031-02-03T04:05:00Z") });
});

const say = (content: string) => ({ messages: [{ role: "user", content }] });
const fast = { token_delay_ms: 0 };

function graphOf(graphId: string, graphs = builtin): CompiledGraph {
  return graphs.find((each) => each.graphId === graphId)!.graph;
}

type State = { messages: BaseMessage[]; __interrupt__?: { value: unknown }[] };

async function ask(
  graphId: string,
  input: unknown,
  configurable: Record<string, unknown> = {},
): Promise<State> {
  const graph = graphOf(graphId);
  return (await graph.invoke(input, { configurable: { ...fast, ...configurable } })) as unknown as State;
}

/** A conversation on one thread that is kept. */
async function conversation(graphId: string) {
  const graph = withPersistence(graphOf(graphId), { checkpointer: new MemorySaver() });
  return async (input: unknown) =>
    (await graph.invoke(input, { configurable: { thread_id: "one", ...fast } })) as unknown as State;
}

const answer = (state: State) => state.messages.at(-1)!.text;

describe("echo", () => {
  test("answers what it was told", async () => {
    expect(answer(await ask("echo", say("say it back")))).toBe("say it back");
  });
});

describe("approval", () => {
  test("stops for a person and acts on a yes", async () => {
    const send = await conversation("approval");
    const stopped = await send(say("send the invoices"));
    expect(stopped.__interrupt__?.[0]?.value).toMatchObject({
      action_requests: [{ name: "act", args: { action: "send the invoices" } }],
    });
    expect(await send(new Command({ resume: "approve" }))).toMatchObject({ approved: true });
  });

  test.each([
    [{ type: "reject", message: "too early" }, "Not done: send the invoices was rejected (too early)."],
    ["no", "Not done: send the invoices was rejected."],
    [{ decisions: [{ type: "approve" }] }, "Done, with your approval: send the invoices."],
    [[{ type: "accept" }], "Done, with your approval: send the invoices."],
    [
      { type: "edit", edited_action: { name: "act", args: { action: "send one" } } },
      "Done, with your approval: send one.",
    ],
  ])("understands the answer %j", async (resume, expected) => {
    const send = await conversation("approval");
    await send(say("send the invoices"));
    expect(answer(await send(new Command({ resume })))).toBe(expected);
  });
});

describe("agent", () => {
  test("answers a greeting with plain text", async () => {
    const state = await ask("agent", say("hello"));
    expect(state.messages.at(-1)!.content).toMatch(/^Hello!.*offline model/);
  });

  test("answers what it has no tool for with Markdown, code included", async () => {
    expect(answer(await ask("agent", say("tell me about whales")))).toMatch(
      /\*\*offline model\*\*[\s\S]*```ts\n/,
    );
  });

  test.each([
    [
      "what is the weather in Paris and New York?",
      ["get_weather", "get_weather"],
      /Paris: \d+ °C[\s\S]*New York: \d+ °C/,
    ],
    ["what time is it in Tokyo?", ["get_time"], /13:05 \(Asia\/Tokyo\)/],
    ["calculate (3 + 4) * 12 - 2^3", ["calculate"], /\*\*76\*\*/],
    ["search for streaming events", ["search_notes"], /\*\*Streaming:\*\*/],
  ])("uses its tools for: %s", async (question, tools, expected) => {
    const { messages } = await ask("agent", say(question));
    const calls = messages.flatMap((message) => (message as AIMessage).tool_calls ?? []);
    expect(calls.map((call) => call.name)).toEqual(tools);
    expect(messages.filter((message) => message.getType() === "tool")).toHaveLength(tools.length);
    expect(messages.at(-1)!.text).toMatch(expected);
  });

  test("counts its tokens", async () => {
    const { usage_metadata: usage } = (await ask("agent", say("hello"))).messages.at(-1) as AIMessage;
    expect(usage?.input_tokens).toBeGreaterThan(0);
    expect(usage?.total_tokens).toBe(usage!.input_tokens + usage!.output_tokens);
  });

  test("asks before it deletes", async () => {
    const send = await conversation("agent");
    const stopped = await send(say("please delete the test records"));
    expect(stopped.__interrupt__?.[0]?.value).toMatchObject({
      action_requests: [{ args: { action: "delete the test records" } }],
    });
    expect(answer(await send(new Command({ resume: { type: "reject", message: "keep them" } })))).toBe(
      'Not done: "delete the test records" was rejected (keep them).',
    );
  });

  test("remembers the thread, also what another assistant said on it", async () => {
    const { messages } = await ask("agent", {
      messages: [
        { role: "user", content: "my name is Ada" },
        { role: "assistant", content: "Noted by somebody else." },
        { role: "user", content: "summarize so far" },
      ],
    });
    expect(messages.at(-1)!.text).toContain("my name is Ada");
    expect(messages.at(-1)!.text).toContain("Noted by somebody else.");
  });

  test("gives the same messages, ids included, for the same conversation, whoever listens", async () => {
    const graph = graphOf("agent");
    const input = { messages: [{ role: "user", content: "research durable execution", id: "q" }] };
    const invoked = (await ask("agent", input)).messages;
    const streamed: State[] = [];
    const stream = await graph.stream(input, { streamMode: ["values", "messages"], configurable: fast });
    for await (const [mode, data] of stream as AsyncIterable<[string, unknown]>) {
      if (mode === "values") streamed.push(data as State);
    }
    const events: unknown[] = [];
    const protocol = await graph.streamEvents(input, { version: "v3", configurable: fast } as never);
    for await (const event of protocol as AsyncIterable<{
      method: string;
      params: { namespace: string[]; data: unknown };
    }>) {
      if (event.method === "values" && event.params.namespace.length === 0) events.push(event.params.data);
    }
    const plain = (messages: BaseMessage[]) =>
      JSON.parse(JSON.stringify(messages.map((message) => message.toDict())));
    expect(plain(streamed.at(-1)!.messages)).toEqual(plain(invoked));
    expect(plain((events.at(-1) as State).messages)).toEqual(plain(invoked));
    expect(new Set(invoked.map((message) => message.id)).size).toBe(invoked.length);
  });
});

describe("the agent's stream", () => {
  type Chunk = [namespace: string[], mode: string, data: unknown];

  async function collect(content: string, configurable: Record<string, unknown> = {}): Promise<Chunk[]> {
    const graph = graphOf("agent");
    const stream = await graph.stream(say(content), {
      streamMode: ["messages", "updates", "tools"],
      subgraphs: true,
      configurable: { ...fast, ...configurable },
    });
    const chunks: Chunk[] = [];
    for await (const chunk of stream as unknown as AsyncIterable<Chunk>) chunks.push(chunk);
    return chunks;
  }

  const tokensOf = (chunks: Chunk[]) =>
    chunks.filter(([, mode]) => mode === "messages").map(([, , data]) => (data as [AIMessageChunk])[0]);

  test("sends text in tokens that add up to the message", async () => {
    const chunks = await collect("hello");
    const tokens = tokensOf(chunks)
      .map((chunk) => chunk.text)
      .filter((text) => text !== "");
    expect(tokens.length).toBeGreaterThan(20);
    const update = chunks.find(([, mode]) => mode === "updates")![2] as { agent: State };
    expect(tokens.join("")).toBe(update.agent.messages[0]!.content);
  });

  test("sends reasoning as blocks, then the tool calls and the tools' events", async () => {
    const chunks = await collect("what is 6 * 7?");
    const reasoning = tokensOf(chunks)
      .flatMap((chunk) => (typeof chunk.content === "string" ? [] : chunk.content))
      .filter((block) => block.type === "reasoning");
    expect(reasoning.length).toBeGreaterThan(5);
    const args = tokensOf(chunks).flatMap((chunk) =>
      (chunk.tool_call_chunks ?? []).map((part) => part.args ?? ""),
    );
    expect(JSON.parse(args.join(""))).toEqual({ expression: "6 * 7" });
    const tools = chunks
      .filter(([, mode]) => mode === "tools")
      .map(([, , data]) => data as { event: string; name: string });
    expect(tools.map(({ event, name }) => [event, name])).toEqual([
      ["on_tool_start", "calculate"],
      ["on_tool_end", "calculate"],
    ]);
  });

  test("reasons always or never when told so", async () => {
    const blocks = async (reasoning: string) =>
      tokensOf(await collect("hello", { reasoning })).some((chunk) => typeof chunk.content !== "string");
    expect([await blocks("always"), await blocks("never")]).toEqual([true, false]);
  });

  test("names the subagent's events by their namespace", async () => {
    const chunks = await collect("research durable execution");
    const nested = chunks.filter(([namespace]) => namespace[0]?.startsWith("tools:"));
    expect(new Set(nested.map(([, mode]) => mode))).toEqual(new Set(["messages", "updates", "tools"]));
    const nodes = nested
      .filter(([, mode]) => mode === "updates")
      .flatMap(([, , data]) => Object.keys(data as object));
    expect(nodes).toEqual(["researcher", "tools", "researcher"]);
  });

  test("ends when it is cancelled", async () => {
    const graph = graphOf("agent");
    const controller = new AbortController();
    const stream = await graph.stream(say("tell me a long story"), {
      streamMode: "messages",
      signal: controller.signal,
      configurable: { token_delay_ms: 1 },
    });
    let seen = 0;
    const reading = (async () => {
      for await (const _ of stream) if (++seen === 3) controller.abort();
    })();
    await expect(reading).rejects.toThrow(/abort/i);
    expect(seen).toBeLessThan(10);
  });
});

describe("a real model", () => {
  test("needs its key", async () => {
    await expect(ask("agent", say("hi"), { model_name: "openai/gpt-5-mini" })).rejects.toThrow(
      /needs a key for OpenAI.*OPENAI_API_KEY/,
    );
    await expect(ask("agent", say("hi"), { model_name: "google/gemini" })).rejects.toThrow(
      /GOOGLE_API_KEY or GEMINI_API_KEY/,
    );
  });

  test("needs its package", async () => {
    const models = createChatModels({
      environment: { ANTHROPIC_API_KEY: "k" },
      resolveFrom: "/nowhere/file.js",
    });
    await expect(models.open({ modelName: "anthropic" })).rejects.toThrow(
      /npm install @langchain\/anthropic/,
    );
  });

  test("is named by its provider alone, or with the model", () => {
    const named = (text: string) => {
      const { id, model } = parseModelName(text) ?? { id: "offline", model: "" };
      return [id, model];
    };
    expect(["offline", "", "openai", "anthropic/claude", "google:gemini"].map(named)).toEqual([
      ["offline", ""],
      ["offline", ""],
      ["openai", "gpt-5-mini"],
      ["anthropic", "claude"],
      ["google", "gemini"],
    ]);
    for (const text of ["gpt-5", "openai/", "constructor", "__proto__/x"])
      expect(() => parseModelName(text)).toThrow("is not known");
  });

  test("must be one that is known", async () => {
    await expect(ask("agent", say("hi"), { model_name: "gpt" })).rejects.toThrow(
      /"gpt" is not known.*openai \(or openai\/gpt-5-mini\)/,
    );
    await expect(ask("agent", say("hi"), { token_delay_ms: -1 })).rejects.toThrow(/token_delay_ms/);
  });
});
