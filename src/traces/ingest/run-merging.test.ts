import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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

describe("single runs and batches", () => {
  test("POST /runs derives what is missing from the parent", async () => {
    const root = randomUUID().replaceAll("-", "");
    const child = randomUUID();
    const start = "2026-10-05T10:00:00.5";
    const made = await subject.app.call("POST", "/api/v1/runs", {
      body: { id: root, name: "r", run_type: "chain", start_time: start },
    });
    expect(made.status).toBe(202);
    const below = {
      id: child,
      name: "c",
      run_type: "tool",
      start_time: 1_791_194_401_000,
      parent_run_id: root,
    };
    await subject.app.call("POST", "/api/v1/runs", { body: below });
    const parent = await subject.run(
      `${root.slice(0, 8)}-${root.slice(8, 12)}-${root.slice(12, 16)}-${root.slice(16, 20)}-${root.slice(20)}`,
    );
    const found = await subject.run(child);
    expect(parent).toMatchObject({
      start_time: "2026-10-05T10:00:00.500000Z",
      dotted_order: `20261005T100000500000Z${parent?.id}`,
    });
    expect(found).toMatchObject({
      parent_run_id: parent?.id,
      trace_id: parent?.id,
      parent_run_ids: [parent?.id],
    });
    expect(found?.dotted_order).toBe(
      `${parent?.dotted_order}.20261005T100001000000Z${child}`.replace("20261005T100001", "20261005T100001"),
    );
  });

  test("PATCH of an unknown run waits for its post", async () => {
    const post = samplePost();
    const patched = await subject.app.call("PATCH", `/api/v1/runs/${post.id}`, {
      body: { end_time: "2026-10-05T10:00:09Z", outputs: { late: 1 }, error: "broke" },
    });
    expect(patched.status).toBe(202);
    expect(await subject.run(post.id)).toBeUndefined();
    await subject.app.call("POST", "/api/v1/runs/batch", { body: { post: [post], patch: [] } });
    expect(await subject.run(post.id)).toMatchObject({
      status: "error",
      error: "broke",
      outputs: { late: 1 },
      end_time: "2026-10-05T10:00:09.000000Z",
    });
    const { rows } = await raw`select from trace_parked_patches`.execute(subject.testDatabase.database.sql);
    expect(rows).toEqual([]);
  });

  test("absent is not null: a patch changes what it names", async () => {
    const post = samplePost({
      inputs: { a: 1 },
      outputs: { b: 2 },
      error: "first",
      end_time: "2026-10-05T10:00:01Z",
    });
    await subject.app.call("POST", "/api/v1/runs", { body: post });
    await subject.app.call("PATCH", `/api/v1/runs/${post.id}`, { body: { error: null } });
    expect(await subject.run(post.id)).toMatchObject({
      inputs: { a: 1 },
      outputs: { b: 2 },
      error: null,
      status: "success",
    });
    await subject.app.call("PATCH", `/api/v1/runs/${post.id}`, { body: { outputs: null } });
    expect(await subject.run(post.id)).toMatchObject({ inputs: { a: 1 }, outputs: null });
  });

  test("a run that is begun again after a crash keeps its start, its inputs and its place", async () => {
    const first = samplePost({ start_time: "2026-10-05T10:00:00.000000Z", inputs: { asked: 1 } });
    await subject.app.call("POST", "/api/v1/runs", { body: first });
    const stored = await subject.run(first.id);
    const again = {
      ...first,
      start_time: "2026-10-05T10:00:30Z",
      inputs: { input: null },
      dotted_order: `20261005T100030000000Z${first.id}`,
      trace_id: first.id,
    };
    await subject.app.call("POST", "/api/v1/runs", { body: again });
    await subject.app.call("PATCH", `/api/v1/runs/${first.id}`, {
      body: { end_time: "2026-10-05T10:00:40Z", outputs: { done: 1 } },
    });
    expect(await subject.run(first.id)).toMatchObject({
      start_time: "2026-10-05T10:00:00.000000Z",
      latency: 40,
      inputs: { asked: 1 },
      outputs: { done: 1 },
      dotted_order: stored!.dotted_order,
      status: "success",
    });
  });

  test("an attempt that was stopped does not leave its error to the one that goes on", async () => {
    const first = samplePost({ start_time: "2026-10-05T10:00:00.000000Z" });
    const { id } = first;
    const patch = (body: object) => subject.app.call("PATCH", `/api/v1/runs/${id}`, { body });
    await subject.app.call("POST", "/api/v1/runs", { body: first });
    await patch({ end_time: "2026-10-05T10:00:05Z", error: "Aborted" });
    await subject.app.call("POST", "/api/v1/runs", {
      body: { ...first, start_time: "2026-10-05T10:00:06Z" },
    });
    expect(await subject.run(id)).toMatchObject({ status: "pending", error: null, end_time: null });
    await patch({ end_time: "2026-10-05T10:00:09Z", outputs: { done: 1 } });
    expect(await subject.run(id)).toMatchObject({ status: "success", latency: 9, error: null });
  });

  test("a batch names the runs it refuses by their place", async () => {
    const good = samplePost();
    const answer = await subject.app.call("POST", "/api/v1/runs/batch", {
      body: { post: [good, { ...samplePost(), start_time: "yesterday" }, 7], patch: [{ outputs: {} }] },
    });
    expect(answer.status).toBe(202);
    const { errors } = answer.body as { errors: { part: string; error: string }[] };
    expect(errors.map((each) => each.part).sort()).toEqual(["patch.0", "post.1", "post.2"]);
  });

  test("422 for a run that cannot be kept and for bodies that are no object", async () => {
    expect((await subject.app.call("POST", "/api/v1/runs", { body: { id: "x" } })).status).toBe(422);
    expect((await subject.app.call("POST", "/api/v1/runs/batch", { body: [1] })).status).toBe(422);
  });

  test("a project of another workspace is not written to", async () => {
    const post = samplePost({ session_id: randomUUID() });
    expect((await subject.app.call("POST", "/api/v1/runs", { body: post })).status).toBe(422);
  });
});

describe("tokens and costs", () => {
  const usage = (input: number, output: number) => ({
    usage_metadata: {
      input_tokens: input,
      output_tokens: output,
      total_tokens: input + output,
      total_cost: 0.5,
    },
  });

  test("rise to ancestors stored earlier, later and in between", async () => {
    const root = samplePost();
    const middle = sampleChild(root);
    const llm = sampleChild(middle, { run_type: "llm", outputs: usage(3, 4) });
    await subject.multipart([{ name: `post.${root.id}`, value: root }]);
    await subject.multipart([{ name: `post.${llm.id}`, value: llm }]);
    await subject.multipart([{ name: `post.${middle.id}`, value: middle }]);
    for (const id of [root.id, middle.id, llm.id]) {
      expect(await subject.run(id)).toMatchObject({
        prompt_tokens: 3,
        completion_tokens: 4,
        total_tokens: 7,
      });
    }
    const { id, dotted_order, trace_id } = llm;
    await subject.multipart([
      { name: `patch.${id}`, value: { id, dotted_order, trace_id, run_type: "llm", outputs: usage(5, 5) } },
    ]);
    for (const each of [root.id, middle.id, llm.id])
      expect(await subject.run(each)).toMatchObject({ total_tokens: 10 });
    expect(Number((await subject.run(root.id))?.total_cost)).toBe(0.5);
  });
});

describe("projects", () => {
  test("a run that a patch made goes to the project its post names", async () => {
    const post = samplePost({ session_name: randomUUID() });
    await subject.app.call("PATCH", `/api/v1/runs/${post.id}`, {
      body: { dotted_order: post.dotted_order, outputs: {} },
    });
    await subject.app.call("POST", "/api/v1/runs", { body: post });
    const path = `/api/v1/sessions?name=${post.session_name}`;
    const [project] = (await subject.app.call("GET", path)).body as { id: string }[];
    expect(await subject.run(post.id)).toMatchObject({ session_id: project!.id, outputs: {} });
  });

  test("a patch that names no project makes none", async () => {
    const body = { outputs: {} };
    expect((await subject.app.call("PATCH", `/api/v1/runs/${randomUUID()}`, { body })).status).toBe(202);
    const before = (await subject.app.call("GET", "/api/v1/sessions?name=default")).body as unknown[];
    expect((await subject.app.call("PATCH", `/api/v1/runs/${randomUUID()}`, { body })).status).toBe(202);
    expect((await subject.app.call("GET", "/api/v1/sessions?name=default")).body).toEqual(before);
  });
});

describe("time", () => {
  test.each(["1999-12-31T23:59:59.000001Z", "2019-02-28T12:00:00.000000Z", "2100-01-01T00:00:00.000000Z"])(
    "a run of %s is kept and found",
    async (start) => {
      const post = samplePost({ start_time: start });
      expect((await subject.app.call("POST", "/api/v1/runs", { body: post })).status).toBe(202);
      const patched = await subject.app.call("PATCH", `/api/v1/runs/${post.id}`, {
        body: { outputs: { ok: 1 } },
      });
      expect(patched.status).toBe(202);
      expect(await subject.run(post.id)).toMatchObject({ start_time: start, outputs: { ok: 1 } });
    },
  );

  test("a post that corrects the start moves the run to another month", async () => {
    const { id } = samplePost();
    const order = `20260305T100000000000Z${id}`;
    await subject.app.call("PATCH", `/api/v1/runs/${id}`, { body: { dotted_order: order, outputs: {} } });
    await subject.app.call("POST", "/api/v1/runs", {
      body: samplePost({ id, dotted_order: order, start_time: "2026-04-01T00:00:00.000000Z" }),
    });
    expect(await subject.run(id)).toMatchObject({ start_time: "2026-04-01T00:00:00.000000Z", outputs: {} });
  });

  test("an id sent again with a time of months later is still one run", async () => {
    const post = samplePost();
    await subject.app.call("POST", "/api/v1/runs", { body: post });
    const again = samplePost({ id: post.id, start_time: "2026-12-24T10:00:00.000000Z", name: "again" });
    await subject.app.call("POST", "/api/v1/runs", { body: again });
    await subject.app.call("PATCH", `/api/v1/runs/${post.id}`, { body: { outputs: { ok: 1 } } });
    const rows = await subject.stored([post.id]);
    expect(rows).toMatchObject([{ name: "again", outputs: '{"ok":1}' }]);
  });
});

describe("what a patch may not take away", () => {
  test("its `extra` comes on top of the stored one; null changes nothing", async () => {
    const post = samplePost({ extra: { metadata: { a: 1, b: 1 }, runtime: { sdk: "x" } } });
    await subject.app.call("POST", "/api/v1/runs", { body: post });
    const path = `/api/v1/runs/${post.id}`;
    await subject.app.call("PATCH", path, { body: { extra: { metadata: { b: 2, thread_id: "t" } } } });
    await subject.app.call("PATCH", path, { body: { extra: { metadata: { c: 3 }, runtime: null } } });
    await subject.app.call("PATCH", path, { body: { extra: null } });
    const metadata = { a: 1, b: 2, c: 3, thread_id: "t" };
    expect(await subject.run(post.id)).toMatchObject({
      extra: { metadata, runtime: { sdk: "x" } },
      thread_id: "t",
    });
    const rows = await subject.stored([post.id]);
    expect(rows.map((row) => row.metadata)).toEqual([metadata]);
  });

  test("a post that comes after its patch adds its `extra` below", async () => {
    const post = samplePost({ extra: { metadata: { a: 1, b: 1 }, runtime: { sdk: "x" } } });
    await subject.app.call("PATCH", `/api/v1/runs/${post.id}`, { body: { extra: { metadata: { b: 2 } } } });
    await subject.app.call("POST", "/api/v1/runs", { body: post });
    expect((await subject.run(post.id))?.extra).toEqual({
      metadata: { a: 1, b: 2 },
      runtime: { sdk: "x" },
    });
  });

  test("merging keeps numbers and keys as they were written", async () => {
    const { id, ...rest } = samplePost();
    const withExtra = (extra: string) => JSON.stringify({ id, ...rest }).replace(/}$/, `,"extra":${extra}}`);
    const first = withExtra('{"big":9007199254740993,"own":{"__proto__":1}}');
    expect(await sendText("POST", "/api/v1/runs", first)).toBe(202);
    const patch = '{"extra":{"big":9007199254740995,"more":-12345678901234567890}}';
    expect(await sendText("PATCH", `/api/v1/runs/${id}`, patch)).toBe(202);
    const rows = await subject.stored([id]);
    expect(rows).toMatchObject([
      { extra: '{"big":9007199254740995,"own":{"__proto__":1},"more":-12345678901234567890}' },
    ]);
  });

  test.each([
    ["/api/v1/runs", (run: string) => run],
    ["/api/v1/runs/batch", (run: string) => `{"post":[${run}]}`],
  ])("numbers that JavaScript would round are stored by %s as they were written", async (way, bodyOf) => {
    const post = samplePost();
    const text = JSON.stringify(post).replace(/}$/, ',"inputs":{"big":9007199254740993}}');
    expect(await sendText("POST", way, bodyOf(text))).toBe(202);
    const rows = await subject.stored([post.id]);
    expect(rows).toMatchObject([{ inputs: '{"big":9007199254740993}' }]);
  });
});

async function sendText(method: string, path: string, text: string): Promise<number> {
  const headers = { "x-api-key": subject.app.apiKey, "content-type": "application/json" };
  const request = new Request(`http://127.0.0.1${path}`, { method, headers, body: text });
  return (await subject.app.fetch(request)).status;
}
