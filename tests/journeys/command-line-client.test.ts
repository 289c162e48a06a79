import { once } from "node:events";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { freePort } from "../support/components/free-port.ts";
import { runCommand } from "../support/components/run-command.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { treadleBin } from "../support/treadle.ts";
import { createClient, type TreadleClient } from "../support/treadle-client.ts";

type Identity = { url: string; url_from: string; api_key_from: string | null; profile: string | null };
type ApiKey = { id: string; name: string; key: string };

let app: TestApp;
let other: TestApp;
let url: string;
let otherUrl: string;
let folder: TempFolder;
let client: TreadleClient;

beforeAll(async () => {
  [app, other] = await Promise.all([createTestApp(), createTestApp()]);
  [url, otherUrl] = await Promise.all([app.listen(), other.listen()]);
});
beforeEach(async () => {
  folder = await createTempFolder("command-line-client");
  client = createClient(folder.path);
  return () => folder.remove();
});
afterAll(async () => {
  await app?.stop();
  await other?.stop();
});

/** Somebody else's server. */
async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: stop };
}

const profileFile = () => join(folder.path, ".config", "treadle", "profiles.json");
const login = (name: string, to: string, key: string) =>
  client.run(["login", "--url", to, "--profile", name], { input: `${key}\n` });

describe("login and profiles", { timeout: 90_000 }, () => {
  test("a key from a pipe is checked, kept closed to others, and used from then on", async () => {
    const exit = await login("work", url, app.apiKey);
    expect(exit).toMatchObject({ code: 0, stdout: expect.stringContaining("as admin") });
    expect(exit.stdout + exit.stderr).not.toContain(app.apiKey);
    expect((await stat(profileFile())).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(profileFile(), "utf8"))).toEqual({
      current: "work",
      profiles: { work: { url, api_key: app.apiKey, workspace_id: app.workspaceId } },
    });
    expect(await client.json<Identity>(["whoami"])).toMatchObject({
      url,
      profile: "work",
      url_from: "profile work",
    });
  });

  test("a terminal asks for the key without showing it", async () => {
    const running = client.terminal(["login", "--url", url]);
    await waitUntil(() => running.text().includes("API key for"), {
      what: "the question",
      timeoutMs: 20_000,
    });
    running.type(`${app.apiKey}\r`);
    const exit = await running.exited;
    expect(exit.code).toBe(0);
    expect(exit.stdout).not.toContain(app.apiKey);
    expect(await client.json<Identity>(["whoami"])).toMatchObject({ profile: "default" });
  });

  test("a wrong key is not kept and ends with 13", async () => {
    const exit = await login("work", url, "trk_not-a-key-at-all");
    expect(exit).toMatchObject({ code: 13, stderr: expect.stringContaining("does not accept the API key") });
    await expect(stat(profileFile())).rejects.toThrow();
  });

  test("are added, listed without keys, chosen and removed", async () => {
    await login("work", url, app.apiKey);
    const added = await client.run(["profile", "add", "home", "--url", otherUrl], { input: other.apiKey });
    expect(added.code).toBe(0);
    const listed = await client.run(["profile"]);
    expect(listed.stdout).toMatch(/● +work/);
    expect(listed.stdout).not.toContain(app.apiKey);
    expect((await client.run(["profile", "use", "home"])).code).toBe(0);
    expect(await client.json<Identity>(["whoami"])).toMatchObject({ url: otherUrl, profile: "home" });
    const unknown = await client.run(["profile", "use", "hone"]);
    expect(unknown).toMatchObject({ code: 14, stderr: expect.stringContaining("Did you mean home?") });
    expect((await client.run(["profile", "remove", "home"])).code).toBe(0);
    expect(await readFile(profileFile(), "utf8")).not.toContain(other.apiKey);
  });

  test("a file that is not one of ours ends with 3 and names it", async () => {
    await mkdir(join(folder.path, ".config", "treadle"), { recursive: true });
    await writeFile(profileFile(), "{ not json");
    const exit = await client.run(["deployments"]);
    expect(exit).toMatchObject({ code: 3, stderr: expect.stringContaining(profileFile()) });
  });
});

describe("which server", { timeout: 90_000 }, () => {
  const startedHere = async (at: string, key: string) => {
    await mkdir(join(folder.path, ".treadle"), { recursive: true });
    const content = { url: at, workspace_id: app.workspaceId, api_key: key };
    await writeFile(join(folder.path, ".treadle", "credentials.json"), JSON.stringify(content), {
      mode: 0o600,
    });
  };

  test("options come before the environment, before a profile, before the server started here", async () => {
    await startedHere(url, app.apiKey);
    const below = join(folder.path, "some", "project");
    await mkdir(below, { recursive: true });
    const here = await client.json<Identity>(["whoami"], { cwd: below });
    expect(here).toMatchObject({ url, url_from: join(folder.path, ".treadle", "credentials.json") });

    await login("home", otherUrl, other.apiKey);
    expect(await client.json<Identity>(["whoami"], { cwd: below })).toMatchObject({ url: otherUrl });

    const env = { TREADLE_URL: url };
    expect(await client.json<Identity>(["whoami"], { cwd: below, env })).toMatchObject({
      url,
      url_from: "TREADLE_URL",
    });

    const named = await client.json<Identity>(["whoami", "--url", otherUrl], { cwd: below, env });
    expect(named).toMatchObject({ url: otherUrl, url_from: "--url", api_key_from: "profile home" });
    expect(await client.json<Identity>(["--profile", "home", "whoami"], { cwd: below, env })).toMatchObject({
      url: otherUrl,
      url_from: "profile home",
    });
  });

  test("a key kept with one address is not sent to another", async () => {
    const seen: (string | undefined)[] = [];
    await using stranger = await serve((request, response) => {
      seen.push(request.headers["x-api-key"]?.toString());
      response.writeHead(401, { "content-type": "application/json" }).end('{"detail":"No key."}');
    });
    await startedHere(url, app.apiKey);
    await login("work", url, app.apiKey);
    const exit = await client.run(["deployments", "--url", stranger.url]);
    expect(exit).toMatchObject({ code: 13, stderr: expect.stringContaining("none was given") });
    expect(seen).toEqual([undefined]);
  });
});

describe("what can be wrong", { timeout: 90_000 }, () => {
  const withKey = () => ({ env: { TREADLE_URL: url, TREADLE_API_KEY: app.apiKey } });

  test("no server: 12, with how to start one", async () => {
    const exit = await client.run(["deployments", "--url", `http://127.0.0.1:${await freePort()}`]);
    expect(exit).toMatchObject({ code: 12, stderr: expect.stringContaining("treadle up") });
  });

  test("another kind of server: 12, and where the address comes from", async () => {
    await using page = await serve((_request, response) => response.end("<h1>It works</h1>"));
    const exit = await client.run(["deployments"], { env: { TREADLE_URL: page.url } });
    expect(exit).toMatchObject({
      code: 12,
      stderr: expect.stringMatching(/is not a Treadle server.*TREADLE_URL/),
    });
  });

  test("a server of another version: both versions are named", async () => {
    await using newer = await serve((request, response) => {
      response.end(request.url === "/info" ? '{"version":"9.9.9"}' : '{"resources":[{"id":1}]}');
    });
    const exit = await client.run(["deployments", "--url", newer.url]);
    expect(exit).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/version 9\.9\.9, this command \d/),
    });
  });

  test("a role that is too small: 13, with the server's own words", async () => {
    const made = await app.call<ApiKey>("POST", "/v2/api-keys", { body: { name: "viewer", role: "viewer" } });
    const exit = await client.run(["keys", "create", "x"], {
      env: { TREADLE_URL: url, TREADLE_API_KEY: made.body.key },
    });
    expect(exit).toMatchObject({ code: 13, stderr: expect.stringMatching(/editor|admin/) });
  });

  test.each([
    [["logs", "--since", "yesterday-ish"], 2],
    [["deploy", "--timeout", "soon"], 2],
    [["export", "create"], 2],
    [["export", "create", "--destination", "x", "--from", "7d"], 1],
    [["--url", "ftp://x", "deployments"], 3],
    [["export", "get", "nonsense"], 14],
    [["logs", "nothing-there"], 14],
    [["export", "create", "--project", "nope", "--destination", "x", "--from", "7d"], 14],
  ])("%j ends with %i and no stack", async (args, code) => {
    const exit = await client.run(args, withKey());
    expect(exit.code).toBe(code);
    expect(exit.stderr).not.toMatch(/^ {4}at /m);
    expect(exit.stdout).toBe("");
  });

  test("what comes from the server cannot steer the terminal", async () => {
    const name = "evil \u001b[2J\u001b]0;owned\u0007 key";
    const key = { id: "1", name, prefix: "trk", role: "admin", last_used_at: null, expires_at: null };
    await using evil = await serve((_request, response) => {
      response.end(JSON.stringify({ resources: [key], offset: 1 }));
    });
    const { stdout } = await client.run(["keys", "list", "--url", evil.url]);
    expect(stdout).toMatch(/evil {1,2}key/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: looks for them
    expect(stdout).not.toMatch(/[\u001b\u0007]/);
  });

  test("a reader that has seen enough is no failure", async () => {
    const script = `'${process.execPath}' '${treadleBin}' --help | true; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await runCommand("bash", ["-c", script]);
    expect({ stdout, stderr }).toEqual({ stdout: "0\n", stderr: "" });
  });
});

describe("keys of a server", { timeout: 90_000 }, () => {
  test("are made, used, listed and revoked with --url", async () => {
    const env = { TREADLE_API_KEY: app.apiKey };
    const made = await client.json<ApiKey>(["keys", "create", "ci", "--role", "editor", "--url", url], {
      env,
    });
    const own = { TREADLE_API_KEY: made.key, TREADLE_URL: url };
    expect(await client.json<Identity>(["whoami"], { env: own })).toMatchObject({
      api_key_from: "TREADLE_API_KEY",
    });
    const listed = await client.json<ApiKey[]>(["keys", "list", "--url", url], { env });
    expect(listed.map(({ id }) => id)).toContain(made.id);
    expect((await client.run(["keys", "revoke", made.id, "--url", url], { env })).code).toBe(0);
    expect((await client.run(["whoami"], { env: own })).code).toBe(13);
    const again = await client.run(["keys", "revoke", made.id, "--url", url], { env });
    expect(again).toMatchObject({ code: 14, stderr: expect.stringContaining("treadle keys list") });
  });
});

describe("keys with scopes", { timeout: 90_000 }, () => {
  type Scoped = ApiKey & { scopes: string[]; service: boolean; role: string; expires_at: string };
  const env = () => ({ TREADLE_URL: url, TREADLE_API_KEY: app.apiKey });

  test("do what they are for, and the refusal names what is missing", async () => {
    const made = await client.json<Scoped>(
      ["keys", "create", "ci", "--service", "--scope", "deploy,read", "--scope", "runs", "--expires", "90d"],
      { env: env() },
    );
    expect(made).toMatchObject({ service: true, role: "editor", scopes: ["deploy", "read", "runs"] });
    const days = (Date.parse(made.expires_at) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(90);
    const listed = await client.run(["keys", "list"], { env: env() });
    expect(listed.stdout).toMatch(/ci +editor \(service\) +deploy,read,runs +\S+ +never +in \S+/);

    const own = { TREADLE_URL: url, TREADLE_API_KEY: made.key };
    expect((await client.run(["deployments", "list"], { env: own })).code).toBe(0);
    const refused = await client.run(["audit"], { env: own });
    expect(refused).toMatchObject({ code: 13, stderr: expect.stringContaining("role admin") });

    const tracer = await client.json<Scoped>(
      ["keys", "create", "my-app", "--service", "--scope", "traces:write", "--tracing-project", "my-app"],
      { env: env() },
    );
    const other = await client.run(["deployments", "list"], {
      env: { TREADLE_URL: url, TREADLE_API_KEY: tracer.key },
    });
    expect(other).toMatchObject({ code: 13, stderr: expect.stringContaining("deploy") });
  });

  test("that cannot be are refused with what would do", async () => {
    const tries: [string[], string][] = [
      [["--scope", "everything"], '"everything" is none of read, runs'],
      [["--expires", "yesterday"], "90d or 12h"],
      [["--service"], "scope"],
      [["--service", "--scope", "admin"], "admin"],
      [["--scope", "read", "--tracing-project", "x"], "traces:write"],
    ];
    for (const [options, said] of tries) {
      const exit = await client.run(["keys", "create", "wrong", ...options], { env: env() });
      expect([options, exit.code === 0, exit.stderr]).toEqual([
        options,
        false,
        expect.stringContaining(said),
      ]);
    }
  });
});

describe("runs of the built-in agents", { timeout: 90_000 }, () => {
  test("are started and listed", async () => {
    const env = { TREADLE_URL: url, TREADLE_API_KEY: app.apiKey };
    const assistants = await app.call<{ graph_id: string }[]>("POST", "/assistants/search", { body: {} });
    const [first] = assistants.body;
    const said = await client.run(["runs", "start", first!.graph_id, "--input", "Hello there"], { env });
    expect({ code: said.code, said: said.stdout.length > 1, stderr: said.stderr }).toMatchObject({
      code: 0,
      said: true,
    });
    const runs = await client.json<{ status: string }[]>(["runs", "--status", "success"], { env });
    expect(runs.map(({ status }) => status)).toEqual(["success"]);
    expect((await client.run(["runs", "--status", "error"], { env })).stdout).toContain(
      "no runs with status error",
    );
  });

  test("that wait for an answer take it with --resume", async () => {
    const env = { TREADLE_URL: url, TREADLE_API_KEY: app.apiKey };
    const asked = await client.run(["runs", "start", "approval", "--input", "Send it"], { env });
    expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining("waits for an answer") });
    // The rest of the command is printed: only the answer is left to write.
    const [, command = "", thread = ""] =
      /answer with: treadle (runs start approval --thread (\S+) --resume) ANSWER/.exec(asked.stderr) ?? [];
    const done = await client.run([...command.split(" "), '{"approved": true}'], { env });
    expect({ code: done.code, stderr: done.stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining("go on with"),
    });
    const { body } = await app.call<{ status: string }>("GET", `/threads/${thread}`);
    expect(body.status).toBe("idle");
    for (const [options, reason] of [
      [["--resume", "yes"], "--resume needs --thread"],
      [["--resume", "yes", "--input", "x", "--thread", thread], "not both"],
      [[], "Give --input"],
    ] as const) {
      const refused = await client.run(["runs", "start", "approval", ...options], { env });
      expect([refused.code === 0, refused.stderr]).toEqual([false, expect.stringContaining(reason)]);
    }
  });
});

test("every shell has a script, another one is a usage error", { timeout: 60_000 }, async () => {
  for (const shell of ["zsh", "fish"]) {
    const { code, stdout } = await client.run(["completion", shell]);
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("treadle complete --"),
    });
  }
  expect((await client.run(["completion", "cmd"])).code).toBe(2);
});

test("the page about the command line names every command", { timeout: 60_000 }, async () => {
  const page = await readFile(new URL("../../docs/command-line.md", import.meta.url), "utf8");
  const { stdout } = await client.run(["--help"]);
  const commands = [...stdout.matchAll(/^ {2}([a-z]+)\b.* {2,}\S/gm)].map((match) => match[1]!);
  expect(
    commands.filter((name) => !["help", "treadle"].includes(name) && !page.includes(`treadle ${name}`)),
  ).toEqual([]);
});
