import { randomUUID } from "node:crypto";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import type { CephRgw } from "../support/components/ceph-rgw.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { createBucket, listKeys } from "../support/exported-files.ts";
import { keepLogs } from "../support/logged-lines.ts";
import { useCephRgw } from "../support/shared-ceph.ts";
import { createClient, lastScreen, type TreadleClient } from "../support/treadle-client.ts";

type Export = {
  id: string;
  status: string;
  interval_hours: number | null;
  progress: { rows_written: number };
};

type Linked = { url: string };

const logs = keepLogs();
const bucket = "cli-exports";
const runCount = 25;
let app: TestApp;
let rgw: CephRgw;
let folder: TempFolder;
let client: TreadleClient;

beforeAll(async () => {
  [app, rgw, folder] = await Promise.all([
    createTestApp({}, { logger: logs.logger }),
    useCephRgw(),
    createTempFolder("command-line-export"),
  ]);
  client = createClient(folder.path, { TREADLE_URL: await app.listen(), TREADLE_API_KEY: app.apiKey });
  await createBucket(rgw, bucket);
  const at = "2026-03-01T12:00:00.000000Z";
  const post = Array.from({ length: runCount }, (_, index) => {
    const id = randomUUID();
    return {
      id,
      trace_id: id,
      dotted_order: `20260301T120000000000Z${id}`,
      name: `run ${index}`,
      run_type: "chain",
      session_name: "support",
      start_time: at,
      end_time: at,
      inputs: { index },
      outputs: {},
    };
  });
  const sent = await app.call("POST", "/api/v1/runs/batch", { body: { post, patch: [] } });
  expect(sent.status).toBeLessThan(300);
}, 180_000);
afterAll(async () => {
  await app?.stop();
  await rgw?.stop();
  await folder?.remove();
});

const window = [
  "--project",
  "support",
  "--destination",
  "lake",
  "--from",
  "2026-03-01",
  "--to",
  "2026-03-02",
];

describe("destinations", { timeout: 90_000 }, () => {
  const create = ["export", "destinations", "create", "lake", "--bucket", bucket, "--prefix", "traces"];

  test("without credentials nothing is asked of a pipe; wrong ones are told", async () => {
    const none = await client.run([...create, "--endpoint", rgw.endpoint]);
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("AWS_ACCESS_KEY_ID") });
    const env = { AWS_ACCESS_KEY_ID: rgw.accessKey, AWS_SECRET_ACCESS_KEY: "wrong-wrong-wrong" };
    const wrong = await client.run([...create, "--endpoint", rgw.endpoint], { env });
    expect(wrong.code).toBe(1);
    expect(wrong.stdout + wrong.stderr).not.toContain("wrong-wrong-wrong");
  });

  test("are made with credentials of the environment, and listed without them", async () => {
    const env = { AWS_ACCESS_KEY_ID: rgw.accessKey, AWS_SECRET_ACCESS_KEY: rgw.secretKey };
    const made = await client.run([...create, "--endpoint", rgw.endpoint], { env });
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining("works") });
    const listed = await client.run(["export", "destinations"]);
    expect(listed.stdout).toContain(`${bucket}/traces`);
    expect(listed.stdout).not.toContain(rgw.secretKey);
  });
});

describe("exports", { timeout: 120_000 }, () => {
  test("are waited for with a bar in a terminal, and the files are there", async () => {
    const exit = await client.terminal(["export", "create", ...window, "--wait"]).exited;
    const screen = lastScreen(exit.stdout);
    expect({ code: exit.code, screen }).toMatchObject({
      code: 0,
      screen: expect.stringMatching(/✓ ━+ +100 %/),
    });
    expect(screen).toMatch(new RegExp(`${runCount} runs in 1 file, .* to lake`));
    expect(
      (await listKeys(rgw, bucket)).some((key) => key.startsWith("traces/") && key.endsWith(".parquet")),
    ).toBe(true);
  });

  test("are one JSON value with --json, and take filter and fields", async () => {
    const done = await client.json<Export>([
      ...["export", "create", ...window, "--wait"],
      ...["--filter", 'eq(name, "run 3")', "--fields", "id,name"],
    ]);
    expect(done).toMatchObject({ status: "COMPLETED", progress: { rows_written: 1 } });
    const shown = await client.run(["export", "get", done.id]);
    expect(shown.stdout).toMatch(/Status +COMPLETED[\s\S]*2026-03-01 +COMPLETED +1 +\S+parquet/);
  });

  test("have files that are listed with their paths, and links that download them and are told nowhere", async () => {
    const done = await client.json<Export>(["export", "create", ...window, "--wait"]);
    const listed = await client.run(["export", "files", done.id]);
    expect(listed.stdout).toMatch(
      new RegExp(`2026-03-01 +${runCount} +.*B +s3://${bucket}/traces/export_id=${done.id}/\\S+\\.parquet`),
    );
    const [file] = await client.json<(Linked & { run_id: string; bytes: number })[]>([
      ...["export", "files", done.id, "--links"],
    ]);
    const content = await (await fetch(file!.url)).arrayBuffer();
    expect(content.byteLength).toBe(file!.bytes);
    expect(await parquetReadObjects({ file: content, compressors })).toHaveLength(runCount);
    const signature = new URL(file!.url).searchParams.get("X-Amz-Signature")!;
    const events = await app.call("GET", `/v2/audit-events?action=export.file_linked&target_id=${done.id}`);
    expect(events.body).toMatchObject({
      resources: [{ outcome: "done", details: { run_id: file!.run_id, part: 0 } }],
    });
    expect(JSON.stringify(events.body)).not.toContain(signature);
    expect(logs.text()).toContain("/{run_id}/link");
    expect(logs.text()).not.toContain(signature);
    const piped = await client.run(["export", "files", done.id, "--links"]);
    expect((await fetch(piped.stdout.trim())).status).toBe(200);
  });

  test("a wrong filter or field is told in the server's words", async () => {
    const exit = await client.run(["export", "create", ...window, "--fields", "id,nmae"]);
    expect(exit).toMatchObject({ code: 1, stderr: expect.stringContaining("export_fields") });
  });

  test("a schedule is made, listed and cancelled", async () => {
    const args = ["export", "create", "--project", "support", "--destination", "lake", "--every", "24"];
    const made = await client.json<Export>(args);
    expect(made.interval_hours).toBe(24);
    expect((await client.run(["export", "list"])).stdout).toMatch(/SCHEDULE +support +lake +every 24 h/);
    expect((await client.run(["export", "cancel", made.id])).code).toBe(0);
    const ended = await client.json<Export>(["export", "get", made.id]);
    expect(ended.status).toBe("CANCELLED");
  });
});
