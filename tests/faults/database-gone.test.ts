import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { type DebianPostgres, startDebianPostgres } from "../support/components/debian-postgres.ts";

let postgres: DebianPostgres;
let app: TestApp;

beforeAll(async () => {
  postgres = await startDebianPostgres();
  app = await createTestApp({ databaseUrl: postgres.url });
}, 600_000);
afterAll(async () => {
  await app?.stop();
  await postgres?.stop();
});

const echo = (content: string) =>
  app.call<{ messages: { content: string }[] }>("POST", "/runs/wait", {
    body: { assistant_id: "echo", input: { messages: [{ role: "user", content }] } },
  });

describe("a database that goes away and comes back", () => {
  it("answers 503 with a sentence meanwhile and heals by itself", async () => {
    expect((await app.call("GET", "/ok")).status).toBe(200);
    expect((await echo("before")).body.messages.at(-1)?.content).toBe("before");

    await postgres.kill();
    const gone = await app.call<{ detail: string }>("GET", "/ok");
    expect(gone.status).toBe(503);
    expect(gone.body.detail).toMatch(/database/i);
    expect((await app.call("GET", "/v2/api-keys")).status).toBe(503);
    expect((await app.call("GET", "/ok?check_db=0")).status).toBe(200);

    await postgres.restart();
    await expect.poll(async () => (await app.call("GET", "/ok")).status, { timeout: 20_000 }).toBe(200);
    expect((await app.call("GET", "/v2/api-keys")).status).toBe(200);
    expect((await echo("after")).body.messages.at(-1)?.content).toBe("after");
  }, 60_000);
});
