import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TempFolder } from "../support/components/temp-folder.ts";
import { createDataParent, type RunningTreadle, startTreadle } from "../support/treadle.ts";

let folder: TempFolder;
let treadle: RunningTreadle;
const secretKey = "an-operator-chosen-encryption-key";

beforeAll(async () => {
  folder = await createDataParent("logs");
  treadle = await startTreadle(["--data-dir", join(folder.path, "data")], {
    env: { TREADLE_LOG_LEVEL: "trace", TREADLE_SECRET_KEY: secretKey },
  });
}, 120_000);
afterAll(async () => {
  await treadle?.stop();
  await folder?.remove();
});

it("a whole journey leaves no secret in the logs", async () => {
  const { url, api_key, workspace_id } = treadle.ready;
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: {
        "x-api-key": api_key!,
        "x-tenant-id": workspace_id,
        "content-type": "application/json",
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });

  const created = (await (await call("POST", "/v2/api-keys", { name: "ci" })).json()) as { key: string };
  const session = (await (await call("POST", "/v2/auth/sessions", {})).json()) as Record<string, string>;
  const token = Object.values(session).find(
    (value) => typeof value === "string" && value.split(".").length === 3,
  )!;
  expect(token).toBeDefined();
  const wrong = "wrong-key-that-is-still-a-secret";
  expect((await call("GET", "/v2/api-keys", undefined, { "x-api-key": wrong })).status).toBe(401);
  expect((await call("GET", `/v2/api-keys?token=query-secret-value`)).status).toBe(200);
  expect((await call("POST", "/v2/api-keys", { name: 7, secret: "body-secret-value" })).status).toBe(422);
  expect((await call("POST", "/v2/api-keys", '{"secret": "broken-secret-value"')).status).toBe(422);
  const run = {
    assistant_id: "echo",
    input: { messages: [{ role: "user", content: "prompt-secret-value" }] },
  };
  expect((await call("POST", "/runs/wait", run, { authorization: `Bearer ${token}` })).status).toBe(200);

  const runtime = JSON.parse(await readFile(join(folder.path, "data", "runtime.json"), "utf8")) as {
    databaseUrl: string;
  };
  const exit = await treadle.stop();
  const logs = [exit.stderr];
  for (const name of await readdir(join(folder.path, "data"), { recursive: true })) {
    if (name.endsWith(".log")) logs.push(await readFile(join(folder.path, "data", name), "utf8"));
  }
  const text = logs.join("\n");
  expect(text).toContain("/runs/wait");
  const secrets = {
    "bootstrap key": api_key!,
    "created key": created.key,
    "session token": token,
    "wrong key": wrong,
    "query value": "query-secret-value",
    "body value": "body-secret-value",
    "broken body": "broken-secret-value",
    prompt: "prompt-secret-value",
    "encryption key": secretKey,
    "database password": new URL(runtime.databaseUrl).password,
  };
  for (const [name, secret] of Object.entries(secrets)) expect(text.includes(secret), name).toBe(false);
}, 60_000);
