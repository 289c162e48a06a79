import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTracesApp, type TracesApp } from "../../../tests/support/traces-app.ts";
import { spanUuid } from "./otlp-run.ts";

let subject: TracesApp;
beforeAll(async () => {
  subject = await createTracesApp();
});
afterAll(() => subject.stop());

type Sample = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes?: Record<string, string | number | boolean | string[]>;
  events?: { name: string; attributes: Record<string, string> }[];
  error?: string;
};

const startNanos = 1_791_194_400_000_001_000n;
const hex = (bytes: number) => randomBytes(bytes).toString("hex");
const sample = (more: Partial<Sample> = {}): Sample => ({
  traceId: hex(16),
  spanId: hex(8),
  name: "span",
  ...more,
});

function jsonValue(value: unknown): unknown {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(jsonValue) } };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number")
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { stringValue: value };
}

const jsonPairs = (attributes: object = {}) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: jsonValue(value) }));

function jsonBody(spans: readonly Sample[]): Buffer {
  const written = spans.map((span) => ({
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId && { parentSpanId: span.parentSpanId }),
    name: span.name,
    startTimeUnixNano: String(startNanos),
    endTimeUnixNano: String(startNanos + 2_000_000_000n),
    attributes: jsonPairs(span.attributes),
    events: (span.events ?? []).map((event) => ({
      ...event,
      timeUnixNano: String(startNanos),
      attributes: jsonPairs(event.attributes),
    })),
    status: span.error ? { code: 2, message: span.error } : { code: 1 },
  }));
  const resource = { attributes: jsonPairs({ "service.name": "shop" }) };
  return Buffer.from(JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: written }] }] }));
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}
const block = (number: number, content: Buffer | string) => {
  const bytes = Buffer.from(content as string);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
};
const fixed = (number: number, value: bigint) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return Buffer.concat([varint(number * 8 + 1), bytes]);
};
function protobufValue(value: unknown): Buffer {
  if (Array.isArray(value))
    return block(5, Buffer.concat(value.map((item) => block(1, protobufValue(item)))));
  if (typeof value === "boolean") return Buffer.concat([varint(16), varint(value ? 1 : 0)]);
  if (typeof value === "number") return Buffer.concat([varint(24), varint(value)]);
  return block(1, String(value));
}
const protobufPairs = (number: number, attributes: object = {}) =>
  Object.entries(attributes).map(([key, value]) =>
    block(number, Buffer.concat([block(1, key), block(2, protobufValue(value))])),
  );

function protobufBody(spans: readonly Sample[]): Buffer {
  const written = spans.map((span) =>
    block(
      2,
      Buffer.concat([
        block(1, Buffer.from(span.traceId, "hex")),
        block(2, Buffer.from(span.spanId, "hex")),
        ...(span.parentSpanId ? [block(4, Buffer.from(span.parentSpanId, "hex"))] : []),
        block(5, span.name),
        fixed(7, startNanos),
        fixed(8, startNanos + 2_000_000_000n),
        ...protobufPairs(9, span.attributes),
        ...(span.events ?? []).map((event) =>
          block(
            11,
            Buffer.concat([
              fixed(1, startNanos),
              block(2, event.name),
              ...protobufPairs(3, event.attributes),
            ]),
          ),
        ),
        block(
          15,
          Buffer.concat([
            ...(span.error ? [block(2, span.error)] : []),
            varint(24),
            varint(span.error ? 2 : 1),
          ]),
        ),
      ]),
    ),
  );
  const resource = block(1, Buffer.concat(protobufPairs(1, { "service.name": "shop" })));
  return block(1, Buffer.concat([resource, block(2, Buffer.concat(written))]));
}

async function send(body: Buffer, headers: Record<string, string> = {}) {
  const response = await subject.app.fetch(
    new Request("http://127.0.0.1/api/v1/otel/v1/traces", {
      method: "POST",
      headers: {
        "x-api-key": subject.app.apiKey,
        "content-type": "application/json",
        "langsmith-project": "otel",
        ...headers,
      },
      body: new Uint8Array(body),
    }),
  );
  return {
    status: response.status,
    bytes: Buffer.from(await response.arrayBuffer()),
    type: response.headers.get("content-type"),
  };
}

const uuid = (digits: string) => spanUuid(digits);

describe.each([
  ["JSON", jsonBody, "application/json"],
  ["protobuf", protobufBody, "application/x-protobuf"],
] as const)("%s 200", (_name, encode, type) => {
  test("spans become runs; a root's run has the id of its trace", async () => {
    const root = sample({
      name: "agent",
      attributes: {
        "langsmith.span.kind": "chain",
        "input.value": '{"q":"hi"}',
        "output.value": "done",
        "session.id": "s1",
      },
    });
    const model = sample({
      traceId: root.traceId,
      parentSpanId: root.spanId,
      name: "chat gpt-4o-mini",
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.request.max_tokens": 64,
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "hi",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "hello",
        custom: true,
      },
    });
    const tool = sample({
      traceId: root.traceId,
      parentSpanId: model.spanId,
      name: "lookup",
      attributes: { "openinference.span.kind": "TOOL", "tag.tags": ["x", "y"] },
      events: [
        {
          name: "exception",
          attributes: { "exception.message": "not there", "exception.stacktrace": "at lookup" },
        },
      ],
      error: "failed",
    });
    const sent = await send(gzipSync(encode([tool, model, root])), {
      "content-type": type,
      "content-encoding": "gzip",
    });
    expect(sent.status).toBe(200);
    const traceId = uuid(root.traceId);
    expect(await subject.run(traceId)).toMatchObject({
      name: "agent",
      run_type: "chain",
      parent_run_id: null,
      thread_id: "s1",
      start_time: "2026-10-05T10:00:00.000001Z",
      end_time: "2026-10-05T10:00:02.000001Z",
      inputs: { q: "hi" },
      outputs: { output: "done" },
      total_tokens: 120,
    });
    const found = await subject.run(uuid(model.spanId));
    expect(found).toMatchObject({
      run_type: "llm",
      trace_id: traceId,
      parent_run_id: traceId,
      inputs: { messages: [{ role: "user", content: "hi" }] },
      outputs: { messages: [{ role: "assistant", content: "hello" }] },
      extra: {
        metadata: { ls_model_name: "gpt-4o-mini", ls_provider: "openai", custom: true },
        invocation_params: { max_tokens: 64 },
        runtime: { "service.name": "shop" },
      },
    });
    expect(Number(found?.total_cost)).toBeCloseTo((100 * 0.15 + 20 * 0.6) / 1e6, 12);
    expect(await subject.run(uuid(tool.spanId))).toMatchObject({
      run_type: "tool",
      status: "error",
      error: "not there\n\nat lookup",
      tags: ["x", "y"],
      parent_run_ids: [traceId, uuid(model.spanId)],
    });
  });

  test.each([
    ["its parent", "in one request", true, true],
    ["its parent", "in two", true, false],
    ["a span nobody sends", "in one request", false, true],
    ["a span nobody sends", "in two", false, false],
  ])("a parent stated as a padded span id, below %s, %s", async (_span, _requests, direct, together) => {
    const root = sample({ name: "root" });
    const child = sample({
      traceId: root.traceId,
      parentSpanId: direct ? root.spanId : hex(8),
      name: "child",
      attributes: { "langsmith.span.parent_id": uuid(root.spanId) },
    });
    for (const spans of together ? [[child, root]] : [[child], [root]])
      expect((await send(encode(spans), { "content-type": type })).status).toBe(200);
    const traceId = uuid(root.traceId);
    expect(await subject.run(uuid(child.spanId))).toMatchObject({
      parent_run_id: traceId,
      parent_run_ids: [traceId],
    });
  });

  test("text that would be JSON deeper than any body may be stays text", async () => {
    const deep = `{"x":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    const span = sample({ attributes: { "input.value": deep, metadata: deep } });
    expect((await send(encode([span]), { "content-type": type })).status).toBe(200);
    const found = await subject.run(uuid(span.traceId));
    expect(found).toMatchObject({ inputs: { input: deep }, extra: { metadata: { metadata: deep } } });
  });

  test("a trace in pieces, children first, is put together", async () => {
    const root = sample({ name: "root" });
    const middle = sample({ traceId: root.traceId, parentSpanId: root.spanId, name: "middle" });
    const usage = {
      "gen_ai.operation.name": "chat",
      "llm.token_count.prompt": 7,
      "llm.token_count.completion": 1,
    };
    const leaf = sample({
      traceId: root.traceId,
      parentSpanId: middle.spanId,
      name: "leaf",
      attributes: usage,
    });
    for (const span of [leaf, middle, root])
      expect((await send(encode([span]), { "content-type": type })).status).toBe(200);
    const traceId = uuid(root.traceId);
    expect(await subject.run(uuid(leaf.spanId))).toMatchObject({
      parent_run_ids: [traceId, uuid(middle.spanId)],
      total_tokens: 8,
    });
    expect(await subject.run(uuid(middle.spanId))).toMatchObject({ parent_run_id: traceId, total_tokens: 8 });
    expect(await subject.run(traceId)).toMatchObject({ total_tokens: 8 });
    const late = sample({ traceId: root.traceId, parentSpanId: root.spanId, name: "late" });
    await send(encode([late]), { "content-type": type });
    expect(await subject.run(uuid(late.spanId))).toMatchObject({
      parent_run_id: traceId,
      parent_run_ids: [traceId],
    });
  });

  test("spans that cannot be kept are counted, the others are stored", async () => {
    const good = sample();
    const answer = await send(encode([good, sample({ spanId: "0000000000000000" })]), {
      "content-type": type,
    });
    expect(answer.status).toBe(200);
    expect(answer.bytes.toString()).toContain("span id");
    expect(await subject.run(uuid(good.traceId))).toMatchObject({ name: "span" });
  });
});

describe("POST /api/v1/otel/v1/traces 4xx", () => {
  test("400 for bodies that are no OTLP, whatever their bytes", async () => {
    expect((await send(Buffer.from("[1]"))).status).toBe(400);
    expect((await send(Buffer.from("{"))).status).toBe(400);
    const type = { "content-type": "application/x-protobuf" };
    expect((await send(protobufBody([sample()]).subarray(0, 40), type)).status).toBe(400);
    for (let round = 0; round < 200; round++) {
      expect([200, 400]).toContain((await send(randomBytes(1 + (round % 60)), type)).status);
    }
  });

  test("415 for other types", async () => {
    expect((await send(Buffer.from("x"), { "content-type": "text/plain" })).status).toBe(415);
  });
});
