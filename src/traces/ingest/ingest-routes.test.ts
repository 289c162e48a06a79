import { randomUUID } from "node:crypto";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runsAreInPostgres } from "../../../tests/support/trace-engine.ts";
import {
  createTracesApp,
  sampleChild,
  samplePost,
  type TracesApp,
} from "../../../tests/support/traces-app.ts";
import { raw } from "../../platform/db/raw.ts";

let subject: TracesApp;
beforeAll(async () => {
  subject = await createTracesApp();
});
afterAll(() => subject.stop());

describe("POST /api/v1/runs/multipart 202", () => {
  test("stores a run sent as one part and its payloads as others", async () => {
    const post = samplePost({ tags: ["a", 'quote"d'], end_time: 1_759_658_401_500 });
    const answer = await subject.multipart([
      { name: `post.${post.id}`, value: post },
      { name: `post.${post.id}.inputs`, value: { question: "wörld \u0000 \ud800" } },
      { name: `post.${post.id}.outputs`, value: { answer: 42 } },
      { name: `post.${post.id}.extra`, value: { metadata: { thread_id: "t1", nul: "\u0000" } } },
      { name: `post.${post.id}.events`, value: [{ name: "new_token", time: "2026-10-05T10:00:00.500000" }] },
      { name: `post.${post.id}.serialized`, value: {} },
    ]);
    expect(answer).toEqual({ status: 202, body: { message: "Runs ingested" } });
    expect(await subject.run(post.id)).toMatchObject({
      id: post.id,
      trace_id: post.id,
      parent_run_id: null,
      name: "root",
      run_type: "chain",
      status: "success",
      start_time: "2026-10-05T10:00:00.123456Z",
      end_time: "2025-10-05T10:00:01.500000Z",
      first_token_time: "2026-10-05T10:00:00.500000Z",
      inputs: { question: "wörld \u0000 \ud800" },
      outputs: { answer: 42 },
      tags: ["a", 'quote"d'],
      thread_id: "t1",
      trace_tier: "longlived",
    });
  });

  test.each([
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
  ])("unpacks %s", async (encoding, encode) => {
    const post = samplePost();
    const answer = await subject.multipart([{ name: `post.${post.id}`, value: post }], {
      encoding,
      encode: (body) => encode(body),
    });
    expect(answer.status).toBe(202);
    expect(await subject.run(post.id)).toMatchObject({ status: "pending" });
  });

  test("takes a post and a patch of one run in one request, in either order", async () => {
    for (const reverse of [false, true]) {
      const post = samplePost();
      const { id, dotted_order, trace_id } = post;
      const patch = {
        id,
        dotted_order,
        trace_id,
        end_time: "2026-10-05T10:00:02.000000+00:00",
        tags: ["late"],
      };
      const parts = [
        { name: `post.${id}`, value: { ...post, tags: ["early"] } },
        { name: `post.${id}.inputs`, value: { a: 1 } },
        { name: `patch.${id}`, value: patch },
        { name: `patch.${id}.outputs`, value: { b: 2 } },
      ];
      if (reverse) parts.reverse();
      expect((await subject.multipart(parts)).status).toBe(202);
      expect(await subject.run(id)).toMatchObject({
        inputs: { a: 1 },
        outputs: { b: 2 },
        status: "success",
        tags: ["late"],
      });
    }
  });

  test("a patch before its post is a run at once, and the post fills it", async () => {
    const post = samplePost({ tags: ["post"] });
    const { id, dotted_order, trace_id } = post;
    const patch = {
      id,
      dotted_order,
      trace_id,
      end_time: "2026-10-05T10:00:02Z",
      outputs: { done: true },
      extra: { metadata: { from: "patch" } },
    };
    await subject.multipart([{ name: `patch.${id}`, value: patch }]);
    expect(await subject.run(id)).toMatchObject({ status: "success", outputs: { done: true } });
    await subject.multipart([
      {
        name: `post.${id}`,
        value: { ...post, inputs: { q: 1 }, end_time: null, extra: { metadata: { from: "post" } } },
      },
    ]);
    expect(await subject.run(id)).toMatchObject({
      status: "success",
      name: "root",
      inputs: { q: 1 },
      outputs: { done: true },
      tags: ["post"],
      extra: { metadata: { from: "patch" } },
    });
  });

  test("the same request twice changes nothing", async () => {
    const root = samplePost();
    const llm = sampleChild(root, {
      run_type: "llm",
      end_time: "2026-10-05T10:00:03Z",
      outputs: { usage_metadata: { input_tokens: 10, output_tokens: 5, total_tokens: 15 } },
      extra: { metadata: { ls_provider: "openai", ls_model_name: "gpt-4o-mini-2024-07-18" } },
    });
    const parts = [
      { name: `post.${root.id}`, value: root },
      { name: `post.${llm.id}`, value: llm },
    ];
    await subject.multipart(parts);
    const first = [await subject.run(root.id), await subject.run(llm.id)];
    await subject.multipart(parts);
    expect([await subject.run(root.id), await subject.run(llm.id)]).toEqual(first);
    expect(first[0]).toMatchObject({ total_tokens: 15, prompt_tokens: 10, completion_tokens: 5 });
    expect(Number(first[1]?.total_cost)).toBeCloseTo((10 * 0.15 + 5 * 0.6) / 1e6, 12);
    expect(await subject.stored([root.id, llm.id])).toHaveLength(2);
  });

  test("keeps what is good and names what is not", async () => {
    const good = samplePost();
    const bad = samplePost();
    const wrongOrder = samplePost({ dotted_order: `20261005T100000000000Z${randomUUID()}` });
    const answer = await subject.multipart([
      { name: `post.${good.id}`, value: good },
      { name: `post.${good.id}.outputs`, bytes: Buffer.from("{oops") },
      { name: `post.${good.id}.secrets`, value: {} },
      { name: `post.${bad.id}`, bytes: Buffer.from('"text"') },
      { name: `post.${bad.id}.inputs`, value: {} },
      { name: `post.${wrongOrder.id}`, value: wrongOrder },
      { name: "post.not-an-id", value: {} },
      { name: `patch.${randomUUID()}.outputs`, value: {} },
      { name: "surprise", value: {} },
      { name: `feedback.${randomUUID()}`, value: { key: "k" } },
    ]);
    expect(answer.status).toBe(202);
    const { errors } = answer.body as { errors: { part: string; error: string }[] };
    expect(
      errors.map((each) =>
        each.part
          .split(".")
          .filter((word) => word.length < 20)
          .join("."),
      ),
    ).toEqual([
      "post",
      "surprise",
      "post.outputs",
      "post.secrets",
      "post.inputs",
      "patch.outputs",
      "post",
      "post.not-an-id",
      "feedback",
    ]);
    expect(await subject.run(good.id)).toMatchObject({ outputs: null });
    expect(await subject.run(wrongOrder.id)).toBeUndefined();
  });

  test("keeps attachments and feedback parts", async () => {
    const post = samplePost();
    const feedback = randomUUID();
    const bytes = Buffer.from([0, 1, 2, 253, 254, 255, 13, 10, 45, 45]);
    const answer = await subject.multipart([
      { name: `post.${post.id}`, value: post },
      { name: `attachment.${post.id}.picture`, bytes, type: "image/png" },
      {
        name: `feedback.${feedback}`,
        value: { run_id: post.id, trace_id: post.id, key: "mood", value: "good", score: true },
      },
    ]);
    expect(answer).toEqual({ status: 202, body: { message: "Runs ingested" } });
    const listed = await subject.app.call("GET", `/api/v1/runs/${post.id}/attachments`);
    expect(listed.body).toEqual([{ name: "picture", mime_type: "image/png", size: bytes.length }]);
    const file = await subject.app.fetch(
      new Request(`http://127.0.0.1/api/v1/runs/${post.id}/attachments/picture`, {
        headers: { "x-api-key": subject.app.apiKey },
      }),
    );
    expect(Buffer.from(await file.arrayBuffer())).toEqual(bytes);
    expect(await subject.run(post.id)).toMatchObject({
      feedback_stats: { mood: { n: 1, avg: 1, values: { good: 1 } } },
    });
  });

  test("takes a batch of 20 MB", async () => {
    const text = "x".repeat(200_000);
    const posts = Array.from({ length: 100 }, () => samplePost());
    const parts = posts.flatMap((post) => [
      { name: `post.${post.id}`, value: post },
      { name: `post.${post.id}.inputs`, value: { text } },
    ]);
    expect((await subject.multipart(parts)).status).toBe(202);
    const rows = await subject.stored(posts.map((post) => post.id));
    expect(rows).toHaveLength(100);
    const size = 200_000 + '{"text":""}'.length;
    expect(rows.map((row) => row.inputs?.length)).toEqual(rows.map(() => size));
  });
});

describe("POST /api/v1/runs/multipart 4xx", () => {
  test("400 for a body cut off in the middle, and nothing of it is kept", async () => {
    const post = samplePost();
    const parts = [{ name: `post.${post.id}`, value: post }];
    expect((await subject.multipart(parts, { encode: (body) => body.subarray(0, -20) })).status).toBe(400);
    for (const [encoding, pack] of [
      ["gzip", gzipSync],
      ["zstd", zstdCompressSync],
    ] as const) {
      const cut = (body: Buffer) => pack(body).subarray(0, -10);
      expect((await subject.multipart(parts, { encoding, encode: cut })).status).toBe(400);
    }
    expect(await subject.run(post.id)).toBeUndefined();
  });

  test("413 for a small body that unpacks to a huge one", async () => {
    const answer = await subject.multipart([{ name: "post.x", value: {} }], {
      encoding: "gzip",
      encode: () => gzipSync(Buffer.alloc(140_000_000)),
    });
    expect(answer.status).toBe(413);
  });

  test("415 for other types and encodings", async () => {
    expect((await subject.multipart([], { encoding: "compress" })).status).toBe(415);
    expect((await subject.multipart([], { headers: { "content-type": "text/plain" } })).status).toBe(415);
  });

  test("422 when nothing could be kept", async () => {
    const answer = await subject.multipart([{ name: "postt.1", value: {} }]);
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "postt.1"] }] } });
  });

  test("403 for another workspace", async () => {
    const answer = await subject.multipart([], { headers: { "x-tenant-id": randomUUID() } });
    expect(answer.status).toBe(403);
  });
});

// Of ClickHouse: tests/faults/traces-clickhouse-away.test.ts.
describe.runIf(runsAreInPostgres())("trouble of the storage", () => {
  test("503 and when to come again, never 202 or 422, whatever the trouble is", async () => {
    const { sql } = subject.testDatabase.database;
    await raw`alter table trace_run_ids rename to trace_run_ids_away`.execute(sql);
    const post = samplePost();
    const answer = await subject.app.call("POST", "/api/v1/runs/batch", {
      body: { post: [post, { id: "wrong" }] },
    });
    await raw`alter table trace_run_ids_away rename to trace_run_ids`.execute(sql);
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await subject.app.call("POST", "/api/v1/runs/batch", { body: { post: [post] } })).status).toBe(
      202,
    );
  });
});
