import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createTracesApp,
  sampleChild,
  samplePost,
  type TracesApp,
} from "../../../tests/support/traces-app.ts";

let subject: TracesApp;
beforeAll(async () => {
  subject = await createTracesApp();
});
afterAll(() => subject.stop());

type Wire = Record<string, unknown> & { id: string; name: string };
const path = "/api/v1/sessions";
const call = (method: string, where: string, body?: unknown) =>
  subject.app.call(method, where, body === undefined ? {} : { body }) as Promise<{
    status: number;
    body: Wire & Wire[];
  }>;

describe("POST /api/v1/sessions", () => {
  test("200 makes a project; with upsert it is updated, without it is 409", async () => {
    const name = randomUUID();
    const made = await call("POST", path, {
      name,
      extra: { metadata: { a: 1 } },
      start_time: 1_791_194_400_000,
    });
    expect(made).toMatchObject({
      status: 200,
      body: { name, tenant_id: subject.app.workspaceId, start_time: "2026-10-05T10:00:00.000000Z" },
    });
    const dataset = randomUUID();
    const again = await call("POST", `${path}?upsert=True`, {
      name,
      description: "d",
      reference_dataset_id: dataset,
    });
    expect(again.body).toMatchObject({
      id: made.body.id,
      description: "d",
      reference_dataset_id: dataset,
      extra: { metadata: { a: 1 } },
    });
    expect((await call("POST", path, { name })).status).toBe(409);
    expect((await call("POST", `${path}?upsert=true`, { name, id: randomUUID() })).body.id).toBe(
      made.body.id,
    );
  });

  test("422 for what is no project", async () => {
    expect((await call("POST", path, { name: "" })).status).toBe(422);
    expect((await call("POST", path, { name: "x", start_time: "soon" })).status).toBe(422);
    expect((await call("POST", path, { name: "x", reference_dataset_id: "y" })).status).toBe(422);
  });
});

describe("GET /api/v1/sessions", () => {
  test("200 filters by name, dataset, metadata and kind, and pages", async () => {
    const mark = randomUUID();
    const dataset = randomUUID();
    for (const index of [1, 2, 3]) {
      const extra = { metadata: { mark, index } };
      await call("POST", path, {
        name: `${mark}-${index}`,
        extra,
        ...(index === 3 && { reference_dataset_id: dataset }),
      });
    }
    const names = async (query: string) =>
      (await call("GET", `${path}?${query}`)).body.map((each) => each.name.slice(-1)).join("");
    expect(await names(`name_contains=${mark.toUpperCase()}`)).toBe("321");
    expect(await names(`name_contains=${mark}&limit=1&offset=1`)).toBe("2");
    expect(await names(`name=${mark}-2`)).toBe("2");
    expect(await names(`reference_dataset=${dataset}`)).toBe("3");
    expect(await names(`name_contains=${mark}&reference_free=true`)).toBe("21");
    expect(await names(`metadata=${encodeURIComponent(JSON.stringify({ mark, index: 1 }))}`)).toBe("1");
    expect(await names(`name_contains=${mark}&sort_by=name&sort_by_desc=false`)).toBe("123");
    expect((await call("GET", `${path}?metadata=x`)).status).toBe(422);
    const deep = `{"x":${"[".repeat(5_000)}${"]".repeat(5_000)}}`;
    expect((await call("GET", `${path}?metadata=${deep}`)).status).toBe(422);
    expect((await call("GET", `${path}?limit=1000`)).status).toBe(422);
  });

  test("200 in the order of the last run; those without runs last", async () => {
    const mark = randomUUID();
    for (const index of [1, 2, 3, 4]) await call("POST", path, { name: `${mark}-${index}` });
    for (const [index, day] of [
      [2, 7],
      [2, 1],
      [4, 5],
      [1, 6],
    ]) {
      const start_time = `2026-10-0${day}T10:00:00.000000Z`;
      await subject.app.call("POST", "/api/v1/runs", {
        body: samplePost({ session_name: `${mark}-${index}`, start_time }),
      });
    }
    const names = async (query: string) =>
      (await call("GET", `${path}?name_contains=${mark}&sort_by=last_run_start_time${query}`)).body
        .map((each) => each.name.slice(-1))
        .join("");
    expect(await names("")).toBe("2143");
    expect(await names("&sort_by_desc=false")).toBe("4123");
    expect(await names("&limit=2&offset=1")).toBe("14");
  });

  test("200 with statistics of the runs at the top", async () => {
    const name = randomUUID();
    const end = { end_time: "2026-10-05T10:00:02.123456Z" };
    const body = {
      post: [
        samplePost({ session_name: name, ...end }),
        samplePost({ session_name: name, ...end, error: "no" }),
      ],
    };
    await subject.app.call("POST", "/api/v1/runs/batch", { body });
    const [found] = (await call("GET", `${path}?name=${name}&include_stats=true`)).body;
    expect(found).toMatchObject({
      run_count: 2,
      error_rate: 0.5,
      latency_p50: 2,
      last_run_start_time: "2026-10-05T10:00:00.123456Z",
    });
  });
});

describe("one project", () => {
  test("404 for unknown, deleted and foreign ones; 422 for ids that are none", async () => {
    const { body } = await call("POST", path, { name: randomUUID() });
    expect((await call("GET", `${path}/${body.id}`)).status).toBe(200);
    expect((await call("DELETE", `${path}/${body.id}`)).status).toBe(202);
    for (const method of ["GET", "DELETE"])
      expect((await call(method, `${path}/${body.id}`)).status).toBe(404);
    expect((await call("PATCH", `${path}/${randomUUID()}`, { name: "x" })).status).toBe(404);
    expect((await call("GET", `${path}/x`)).status).toBe(422);
  });

  test("a name is free again after its project is deleted, and traces go to the new one", async () => {
    const name = randomUUID();
    const first = samplePost({ session_name: name });
    await subject.app.call("POST", "/api/v1/runs", { body: first });
    const [old] = (await call("GET", `${path}?name=${name}`)).body;
    await call("DELETE", `${path}/${old!.id}`);
    expect(await subject.run(first.id)).toBeUndefined();
    const second = samplePost({ session_name: name });
    await subject.app.call("POST", "/api/v1/runs", { body: second });
    const [fresh] = (await call("GET", `${path}?name=${name}`)).body;
    expect(fresh!.id).not.toBe(old!.id);
    expect(await subject.run(second.id)).toMatchObject({ session_id: fresh!.id });
  });

  test("whole traces are deleted by their ids, and no others", async () => {
    const name = randomUUID();
    const [root, other] = [samplePost({ session_name: name }), samplePost({ session_name: name })];
    const child = sampleChild(root, { session_name: name });
    await subject.app.call("POST", "/api/v1/runs/batch", { body: { post: [root, child, other] } });
    const [project] = (await call("GET", `${path}?name=${name}`)).body;
    const body = { session_id: project!.id, trace_ids: [root.id, randomUUID()] };
    expect(await call("POST", "/api/v1/runs/delete", body)).toMatchObject({
      status: 202,
      body: { deleted: 2 },
    });
    expect([await subject.run(root.id), await subject.run(child.id)]).toEqual([undefined, undefined]);
    expect(await subject.run(other.id)).toMatchObject({ id: other.id });
    expect((await call("POST", "/api/v1/runs/delete", { ...body, session_id: randomUUID() })).status).toBe(
      404,
    );
  });

  test("409 when the new name is taken", async () => {
    const [one, other] = [
      await call("POST", path, { name: randomUUID() }),
      await call("POST", path, { name: randomUUID() }),
    ];
    expect((await call("PATCH", `${path}/${one.body.id}`, { name: other.body.name })).status).toBe(409);
    expect(
      (await call("PATCH", `${path}/${one.body.id}`, { end_time: "2026-10-05", description: null })).body,
    ).toMatchObject({
      end_time: "2026-10-05T00:00:00.000000Z",
      description: null,
    });
  });
});
