import { randomUUID } from "node:crypto";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { runCommand } from "../support/components/run-command.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { treadleBin } from "../support/treadle.ts";
import { createClient, type TreadleClient } from "../support/treadle-client.ts";

type Alert = {
  id: string;
  name: string;
  scope: string;
  scope_id: string | null;
  window_minutes: number;
  threshold: number | null;
  enabled: boolean;
  muted_until: string | null;
  webhook_host: string | null;
  webhook_secret?: string | null;
};

let app: TestApp;
let folder: TempFolder;
let client: TreadleClient;
let hook: Server;
let hookUrl: string;
let answer = 200;
const posted: string[] = [];

beforeAll(async () => {
  hook = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => {
      body += part.toString();
    });
    request.on("end", () => {
      posted.push(body);
      response.writeHead(answer).end();
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
  hookUrl = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/a-secret-path`;
  [app, folder] = await Promise.all([
    createTestApp({ allowPrivateAddresses: true }),
    createTempFolder("command-line-alerts"),
  ]);
  client = createClient(folder.path, { TREADLE_URL: await app.listen(), TREADLE_API_KEY: app.apiKey });
  const project = await app.call("POST", "/api/v1/sessions", { body: { id: randomUUID(), name: "bot" } });
  expect(project.status).toBeLessThan(300);
}, 120_000);
afterAll(async () => {
  await app?.stop();
  await new Promise((resolve) => hook.close(resolve));
  await folder?.remove();
});

const rule = ["--kind", "error_rate", "--threshold", "10", "--min-runs", "5"];

describe("treadle alerts", { timeout: 120_000 }, () => {
  test("an empty list says how to make one, and create says what is missing", async () => {
    expect((await client.run(["alerts"])).stdout).toContain("treadle alerts create --help");
    const nobody = await client.run(["alerts", "create", "fail", ...rule]);
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining("--webhook, --email") });
    const kind = await client.run(["alerts", "create", "fail", "--kind", "rate", "--webhook", hookUrl]);
    expect(kind).toMatchObject({ code: 2, stderr: expect.stringContaining("error_rate, latency_p95") });
    const window = await client.run(["alerts", "create", "fail", ...rule, "--window", "15"]);
    expect(window).toMatchObject({ code: 2, stderr: expect.stringContaining("15m or 6h") });
    const threshold = ["alerts", "create", "fail", "--kind", "error_rate", "--webhook", hookUrl];
    expect(await client.run(threshold)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("threshold is required"),
    });
    const where = await client.run([
      "alerts",
      "create",
      "fail",
      ...rule,
      "--webhook",
      hookUrl,
      "--project",
      "bto",
    ]);
    expect(where).toMatchObject({ code: 14, stderr: expect.stringContaining("Did you mean bot?") });
  });

  test("the address of a webhook comes from stdin, and its secret is printed once", async () => {
    const made = await client.run(
      ["alerts", "create", "Agents fail", ...rule, "--window", "1h", "--project", "bot", "--webhook", "-"],
      { input: `${hookUrl}\n` },
    );
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/shown only now: \S{16,}/) });
    expect(made.stdout).not.toContain("a-secret-path");
    const secret = /shown only now: (\S+)/.exec(made.stdout)![1]!;
    const listed = await client.run(["alerts"]);
    expect(listed.stdout).toMatch(/Agents fail +ok +error_rate +10 % in 1h/);
    const shown = await client.run(["alerts", "show", "Agents fail"]);
    expect(shown.stdout).toMatch(/Fires at +10 % in 1h\nFrom +5 runs in the window\nWatches +project bot/);
    expect(listed.stdout + shown.stdout).not.toMatch(new RegExp(`${secret}|a-secret-path`));
  });

  test("set changes what is given and nothing else", async () => {
    const changed = await client.json<Alert>([
      ...["alerts", "set", "Agents fail", "--threshold", "5", "--name", "Bots fail", "--disable"],
    ]);
    expect(changed).toMatchObject({
      ...{ name: "Bots fail", threshold: 5, window_minutes: 60, enabled: false, scope: "project" },
      webhook_host: new URL(hookUrl).host,
    });
    expect(await client.json<Alert>(["alerts", "set", "Bots fail", "--enable"])).toMatchObject({
      enabled: true,
    });
    expect(await client.run(["alerts", "set", "Bots fail"])).toMatchObject({ code: 1 });
    const nobody = await client.run(["alerts", "set", "Bots fail", "--no-webhook"]);
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining("Nobody would be notified") });
    const mail = await client.run(["alerts", "set", "Bots fail", "--email", "a@example.com"]);
    expect(mail).toMatchObject({ code: 1, stderr: expect.stringContaining("TREADLE_SMTP_URL") });
  });

  test("mute keeps it quiet for a while, unmute ends that", async () => {
    const before = Date.now();
    const muted = await client.json<Alert>(["alerts", "mute", "Bots fail", "--for", "2h"]);
    expect(Date.parse(muted.muted_until!) - before).toBeGreaterThanOrEqual(2 * 3_600_000);
    expect((await client.run(["alerts"])).stdout).toMatch(/Bots fail +ok, muted/);
    expect((await client.json<Alert>(["alerts", "unmute", "Bots fail"])).muted_until).toBeNull();
  });

  test("test sends to everybody and ends with 15 when one refuses; history tells both", async () => {
    answer = 404;
    const refused = await client.run(["alerts", "test", "Bots fail"]);
    expect(refused).toMatchObject({
      code: 15,
      stdout: expect.stringMatching(/webhook to \S+: failed, .*404/),
    });
    const again = await client.run(["alerts", "test", "Bots fail"]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("10 seconds") });
    expect((await client.run(["alerts"])).stdout).toMatch(/Bots fail .*not delivered, (now|\d+s ago): .*404/);
    const shown = await client.run(["alerts", "get", "Bots fail"]);
    expect(shown.stdout).toMatch(/Undelivered +not delivered, .*404/);
    answer = 200;
    const other = await client.json<Alert>(["alerts", "create", "other", ...rule, "--webhook", hookUrl]);
    const sent = await client.run(["alerts", "test", other.id]);
    expect(sent).toMatchObject({ code: 0, stdout: expect.stringMatching(/webhook to \S+: sent/) });
    expect((await client.run(["alerts", "get", other.id])).stdout).not.toContain("Undelivered");
    expect(posted.map((body) => (JSON.parse(body) as { kind: string }).kind)).toEqual(["test", "test"]);
    expect(await client.json(["alerts", "history"])).toHaveLength(2);
    const history = await client.run(["alerts", "history", "Bots fail"]);
    expect(history.stdout).toMatch(/now|ago +test +Test: Bots fail.*failed \(.*404/);
  });

  test("delete asks, or takes --yes; a name that is not there is 14 with those that are", async () => {
    const unasked = await client.run(["alerts", "delete", "other"]);
    expect(unasked).toMatchObject({ code: 1, stderr: expect.stringContaining("--yes") });
    expect((await client.run(["alerts", "delete", "other", "--yes"])).code).toBe(0);
    const gone = await client.run(["alerts", "get", "Bots fall"]);
    expect(gone).toMatchObject({ code: 14, stderr: expect.stringContaining("Did you mean Bots fail?") });
  });

  test("bash completes names with spaces, escaped", async () => {
    const bin = join(folder.path, "bin");
    await mkdir(bin);
    await writeFile(join(bin, "treadle"), `#!/bin/sh\nexec '${process.execPath}' '${treadleBin}' "$@"\n`);
    await chmod(join(bin, "treadle"), 0o755);
    const complete = async (current: string) => {
      const script = `source <(treadle completion bash)
COMP_WORDS=(treadle alerts mute '${current}'); COMP_CWORD=3
_treadle; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout } = await runCommand("bash", ["--norc", "-c", script], {
        env: {
          PATH: `${bin}:${process.env.PATH}`,
          HOME: folder.path,
          TREADLE_URL: await app.listen(),
          TREADLE_API_KEY: app.apiKey,
        },
      });
      return stdout.trim();
    };
    expect(await complete("Bo")).toBe("Bots\\ fail");
    expect(await complete("Bots\\ f")).toBe("Bots\\ fail");
  });
});
