import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTracesApp, samplePost, type TracesApp } from "../../../tests/support/traces-app.ts";

let subject: TracesApp;
let path: string;
beforeAll(async () => {
  subject = await createTracesApp();
  await subject.app.call("POST", "/api/v1/runs", { body: samplePost() });
  const { body } = await subject.app.call("GET", "/api/v1/sessions?name=sample");
  path = `/api/v1/sessions/${(body as { id: string }[])[0]!.id}/saved-views`;
});
afterAll(() => subject.stop());

type View = { id: string; name: string };
const slow = {
  name: "Slow ones",
  filter: 'gt(latency, "5s")',
  columns: ["latency", "tags"],
  sort: "-latency",
  options: { range: "30d" },
};
const names = async () => ((await subject.app.call("GET", path)).body as View[]).map(({ name }) => name);

describe("saved views", () => {
  test("are made, listed by name, renamed and deleted", async () => {
    const made = await subject.app.call("POST", path, { body: slow });
    expect(made).toMatchObject({ status: 201, body: slow });
    await subject.app.call("POST", path, { body: { name: "All" } });
    expect(await names()).toEqual(["All", "Slow ones"]);
    const one = `${path}/${(made.body as View).id}`;
    const renamed = await subject.app.call("PATCH", one, { body: { name: "Crawling" } });
    expect(renamed).toMatchObject({ status: 200, body: { ...slow, name: "Crawling" } });
    const changed = await subject.app.call("PATCH", one, { body: { filter: "", sort: null } });
    expect(changed.body).toMatchObject({ name: "Crawling", filter: "", sort: null, columns: slow.columns });
    expect((await subject.app.call("DELETE", one)).status).toBe(204);
    expect((await subject.app.call("DELETE", one)).status).toBe(404);
    expect(await names()).toEqual(["All"]);
  });

  test("409 for a name that is taken, when made and when renamed", async () => {
    expect((await subject.app.call("POST", path, { body: { name: "All" } })).status).toBe(409);
    const { body } = await subject.app.call("POST", path, { body: { name: "Other" } });
    const one = `${path}/${(body as View).id}`;
    expect((await subject.app.call("PATCH", one, { body: { name: "All" } })).status).toBe(409);
  });

  test("404 for a project that is not there, 422 for a name that is none", async () => {
    const nowhere = `/api/v1/sessions/${randomUUID()}/saved-views`;
    expect((await subject.app.call("GET", nowhere)).status).toBe(404);
    expect((await subject.app.call("POST", nowhere, { body: slow })).status).toBe(404);
    expect((await subject.app.call("POST", path, { body: { name: " " } })).status).toBe(422);
  });
});
