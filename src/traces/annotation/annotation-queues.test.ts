import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTracesApp, samplePost, type TracesApp } from "../../../tests/support/traces-app.ts";

let subject: TracesApp;
let other: string;
beforeAll(async () => {
  subject = await createTracesApp();
  const made = await subject.app.call("POST", "/v2/api-keys", {
    body: { name: "other", role: "editor", service: true, scopes: ["read", "traces:write"] },
  });
  other = (made.body as { key: string }).key;
});
afterAll(() => subject.stop());

type Item = { id: string; completed_by: string[]; reserved_by: string[]; run_id: string };
const call = (method: string, path: string, body?: unknown, key?: string) =>
  subject.app.call(method, `/api/v1${path}`, {
    ...(body !== undefined && { body }),
    ...(key !== undefined && { key }),
  }) as Promise<{ status: number; body: Record<string, unknown> }>;

async function queueOf(runs: number, more: object = {}) {
  const posts = Array.from({ length: runs }, () => samplePost());
  await call("POST", "/runs/batch", { post: posts, patch: [] });
  const queue = (await call("POST", "/annotation-queues", { name: randomUUID(), ...more })).body.id as string;
  const added = await call(
    "POST",
    `/annotation-queues/${queue}/runs`,
    posts.map((run) => run.id),
  );
  expect(added.status).toBe(200);
  const items = (added.body as unknown as Item[]).map((item) => item.id);
  const section = async (status: string, key?: string) => {
    const path = `/platform/annotation-queues/${queue}/items?status=${status}&page_size=100`;
    return ((await call("GET", path, undefined, key)).body.items as Item[]).map((item) => item.id);
  };
  const say = (item: string, body: object, key?: string) =>
    call("POST", `/platform/annotation-queues/items/${item}/status`, body, key);
  return { queue, items, section, say, runIds: posts.map((run) => run.id) };
}

test("an item is done when as many as it needs have completed it; until then each sees what is theirs", async () => {
  const { items, section, say } = await queueOf(2, { num_reviewers_per_item: 2 });
  const [first, second] = items;
  expect((await say(first!, { status: "completed" })).body).toMatchObject({ is_archived: false });
  expect(await section("needs_my_review")).toEqual([second]);
  expect(await section("needs_others_review")).toEqual([first]);
  expect(await section("needs_my_review", other)).toEqual([first, second]);
  expect((await say(first!, { status: "completed" }, other)).body).toMatchObject({ is_archived: true });
  expect(await section("archived")).toEqual([first]);
  expect(await section("needs_my_review", other)).toEqual([second]);
  // Taken back, it is to be reviewed again.
  expect((await say(first!, { status: null })).body).toMatchObject({ is_archived: false });
  expect(await section("needs_my_review")).toEqual([first, second]);
});

test("what is put off comes last, for the one who put it off; what is looked at is reserved", async () => {
  const { queue, items, section, say } = await queueOf(3, {
    enable_reservations: true,
    reservation_minutes: 5,
  });
  const [first, second, third] = items;
  const later = new Date(Date.now() + 60_000).toISOString();
  await say(first!, { status: "viewed", override_added_at: later });
  expect(await section("needs_my_review")).toEqual([second, third, first]);
  expect(await section("needs_my_review", other)).toEqual([first, second, third]);
  const { body } = await call("GET", `/platform/annotation-queues/${queue}/items?status=needs_my_review`);
  expect((body.items as Item[]).map((item) => item.reserved_by.length)).toEqual([0, 0, 1]);
});

test("pages go forward and back", async () => {
  const { queue, items } = await queueOf(5);
  const page = async (more: string) => {
    const path = `/platform/annotation-queues/${queue}/items?status=needs_my_review&page_size=2${more}`;
    const { body } = await call("GET", path);
    return { ids: (body.items as Item[]).map((item) => item.id), next: body.next_cursor as string | null };
  };
  const one = await page("");
  const two = await page(`&cursor=${one.next}`);
  const three = await page(`&cursor=${two.next}`);
  expect([one.ids, two.ids, three]).toEqual([
    items.slice(0, 2),
    items.slice(2, 4),
    { ids: items.slice(4), next: null },
  ]);
  expect((await page(`&cursor=${two.next}&direction=backward`)).ids).toEqual(items.slice(1, 3));
});

test("a run is in a queue once; all are added, or none; a queue of another workspace is not found", async () => {
  const { queue, runIds } = await queueOf(1);
  const path = `/annotation-queues/${queue}`;
  expect((await call("POST", `${path}/runs`, runIds)).status).toBe(200);
  expect((await call("POST", `${path}/runs`, [...runIds, randomUUID()])).status).toBe(404);
  expect((await call("GET", `${path}/total_size`)).body).toEqual({ size: 1 });
  expect((await call("GET", `/annotation-queues/${randomUUID()}`)).status).toBe(404);
  expect(
    (await call("POST", "/annotation-queues", { name: "x", reviewer_access_mode: "assigned" })).status,
  ).toBe(422);
  expect((await call("DELETE", `${path}/runs/${runIds[0]}`)).status).toBe(200);
  expect((await call("DELETE", `${path}/runs/${runIds[0]}`)).status).toBe(404);
});

test("what a queue names must be there: 404, and nothing is kept of the request", async () => {
  const unknown = randomUUID();
  const id = randomUUID();
  const name = randomUUID();
  const asked = [
    await call("POST", "/annotation-queues", { id, name, default_dataset: unknown }),
    await call("POST", "/annotation-queues", { id, name, session_ids: [unknown] }),
  ];
  const { queue } = await queueOf(1);
  asked.push(
    await call("GET", `/annotation-queues/${id}`),
    await call("PATCH", `/annotation-queues/${queue}`, { default_dataset: unknown }),
    await call("POST", "/annotation-queues/populate", { queue_id: queue, session_ids: [unknown] }),
    await call("POST", `/platform/annotation-queues/${queue}/items`, {
      items: [{ thread_id: "t", project_id: unknown }],
    }),
  );
  expect(asked.map((answer) => answer.status)).toEqual([404, 404, 404, 404, 404, 404]);
  expect((await call("GET", `/annotation-queues/${queue}`)).body).toMatchObject({
    default_dataset: null,
    total_runs: 1,
  });
});

test("fields that could have no effect are refused with what to do instead", async () => {
  const { queue, items, runIds, say } = await queueOf(2);
  const runs = `/annotation-queues/${queue}/runs`;
  const unknown = randomUUID();
  const refused: [{ status: number; body: unknown }, number, RegExp][] = [
    [await call("POST", `${runs}?extend_trace_retention=true`, runIds), 422, /retention_days/],
    [
      await call("POST", "/annotation-queues/populate", {
        queue_id: queue,
        session_ids: [unknown],
        extend_trace_retention: true,
      }),
      422,
      /retention_days/,
    ],
    [
      await call("POST", `/annotation-queues/${queue}/export`, { include_annotator_detail: true }),
      422,
      /completed_by/,
    ],
    [await call("POST", `${runs}/delete`, { run_ids: runIds, delete_all: true }), 422, /not both/],
    [
      await call("POST", `${runs}/delete`, { run_ids: runIds, exclude_run_ids: runIds }),
      422,
      /needs delete_all/,
    ],
    [await say(items[0]!, { override_added_at: "2030-01-01T00:00:00Z" }), 422, /send viewed with it/],
    [await call("POST", `${runs}/by-key`, [{ run_id: runIds[0], session_id: unknown }]), 404, /Send its own/],
    [
      await call("POST", `/platform/annotation-queues/${queue}/items`, {
        items: [{ run_id: runIds[0], thread_id: "t", project_id: unknown }],
      }),
      422,
      /name one of the two/,
    ],
  ];
  for (const [{ status, body }, expected, message] of refused) {
    expect([status, JSON.stringify(body)]).toEqual([expected, expect.stringMatching(message)]);
  }
  // What clients send by default is accepted.
  expect((await call("POST", `${runs}?extend_trace_retention=false`, runIds)).status).toBe(200);
  const exported = await call("POST", `/annotation-queues/${queue}/export`, {
    include_annotator_detail: false,
  });
  expect(exported.status).toBe(200);
});

test("include_stats and include_extra say whether those fields are answered", async () => {
  const { queue } = await queueOf(1);
  const fieldsAt = async (path: string) => {
    const { body } = await call("GET", `/annotation-queues/${queue}/${path}`);
    return Object.keys(Array.isArray(body) ? (body[0] as object) : body);
  };
  expect(await fieldsAt("runs")).toContain("feedback_stats");
  expect(await fieldsAt("runs?include_stats=false")).not.toContain("feedback_stats");
  expect(await fieldsAt("run/0")).toContain("extra");
  expect(await fieldsAt("run/0?include_extra=false")).not.toContain("extra");
});
