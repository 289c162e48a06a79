import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { compiledAgent } from "../support/compiled-agent.ts";
import { startGateServer } from "../support/components/gate-server.ts";
import { git } from "../support/components/git-repository.ts";
import { startGitServer } from "../support/components/git-server.ts";
import { runCommand } from "../support/components/run-command.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type ControlPlaneServer, startControlPlane } from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type DeploymentBody, type RevisionBody, revisionDone } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import { treadleBin } from "../support/treadle.ts";
import { createClient, lastScreen, type TreadleClient, writeProject } from "../support/treadle-client.ts";

type Result = { deployment: DeploymentBody; revision: RevisionBody; url: string };

let plane: ControlPlaneServer;
let folder: TempFolder;
let database: TestDatabase;
let client: TreadleClient;
const install = ["--install-command", quickInstall];

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await createTempFolder("command-line-deploy");
  plane = await startControlPlane({
    ...{ databaseUrl: database.url, folder: join(folder.path, "data") },
    settings: { compileCache: await compiledAgent() },
  });
  client = createClient(folder.path, {
    TREADLE_URL: plane.url,
    TREADLE_API_KEY: plane.apiKey,
    TREADLE_WORKSPACE_ID: plane.workspaceId,
  });
});
afterAll(async () => {
  await plane?.stop();
  await database?.drop();
  await folder?.remove();
});

const named = (name: string) => ({
  "package.json": JSON.stringify({ name, private: true, type: "module" }),
});
const project = (name: string, answer: string, more = {}) =>
  writeProject(join(folder.path, name), quickProject(answer, { ...named(name), ...more }));
const versionOf = async (url: string) => (await fetch(`${url}/version`)).json();

describe("deploy", { timeout: 240_000 }, () => {
  test("packs the folder, waits, and prints the address alone into a pipe", async () => {
    const cwd = await project("piped", "one", {
      ".gitignore": "*.tmp\n",
      "left.tmp": "not wanted",
      ".env": "TOKEN=very-secret-value",
      "node_modules/x/index.js": "not wanted",
    });
    const limits = ["--cpu", "1.5", "--memory", "700"];
    const exit = await client.run(["deploy", ...install, ...limits, "--secret", "SUFFIX=!"], { cwd });
    expect(exit).toMatchObject({ code: 0, stdout: expect.stringMatching(/^http:\S+\n$/) });
    expect(await versionOf(exit.stdout.trim())).toEqual({ answer: "one", suffix: "!" });
    expect(exit.stderr).toMatch(
      /Pack: 6 files[\s\S]*Upload: done[\s\S]*\| linked the packages[\s\S]*Start: done in/,
    );
    expect(exit.stderr).not.toContain("\u001b[");
  });

  test("the same folder again is a revision that keeps its secrets and needs no second build", async () => {
    const cwd = join(folder.path, "piped");
    const again = ["deploy", ...install, "--memory", "800"];
    const { revision, deployment, url } = await client.json<Result>(again, { cwd });
    expect(revision).toMatchObject({ number: 2, status: "DEPLOYED" });
    // A limit that is not named stays.
    expect(deployment).toMatchObject({
      source_config: { resource_spec: { cpu_limit: 1.5, memory_limit_mb: 800 } },
    });
    expect(deployment.secrets).toEqual([{ name: "SUFFIX", value: "********" }]);
    expect(await versionOf(url)).toEqual({ answer: "one", suffix: "!" });
    const lines = await client.run(["logs", "piped", "--build", "--json"]);
    expect(lines.stdout).not.toContain("linked the packages");
  });

  test("a terminal sees the steps drawn in place, and the address at the end", async () => {
    const cwd = await project("seen", "two");
    const exit = await client.terminal(["deploy", ...install, "--name", "seen"], { cwd, columns: 70 }).exited;
    const screen = lastScreen(exit.stdout);
    expect(exit.code).toBe(0);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: looks for a cursor that moves up
    expect(exit.stdout).toMatch(/\u001b\[\d+A/);
    expect(screen).toMatch(/✓ Pack[\s\S]*✓ Upload[\s\S]*✓ Wait[\s\S]*✓ Build[\s\S]*✓ Start/);
    expect(screen).toMatch(/seen serves revision 1 at http:/);
    expect(screen).toMatch(/Its pages open at http:\/\/seen\S*\.localhost:\d+/);
    expect(
      screen
        .split("\n")
        .filter((line) => line.startsWith("✓"))
        .map((line) => line.length <= 70),
    ).not.toContain(false);
    // The cursor was hidden and is back.
    expect(exit.stdout.lastIndexOf("\u001b[?25h")).toBeGreaterThan(exit.stdout.lastIndexOf("\u001b[?25l"));
  });

  test("NO_COLOR leaves the drawing without colours", async () => {
    const cwd = join(folder.path, "seen");
    const running = client.terminal(["revisions"], { cwd, env: { NO_COLOR: "1" } });
    const { stdout } = await running.exited;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: looks for colours
    expect(stdout).not.toMatch(/\u001b\[[0-9;]*m/);
    const colored = await client.terminal(["revisions"], { cwd }).exited;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: looks for colours
    expect(colored.stdout).toMatch(/\u001b\[[0-9;]*m/);
  });

  test("a build that fails ends with 15, the reason and the last lines", async () => {
    const cwd = await project("broken", "x", {
      "install.js": 'console.error("the flux capacitor is missing"); process.exit(3);',
    });
    const exit = await client.run(["deploy", ...install], { cwd });
    expect(exit.code).toBe(15);
    expect(exit.stdout).toBe("");
    expect(exit.stderr).toMatch(
      /BUILD_FAILED[\s\S]*the flux capacitor is missing[\s\S]*treadle logs broken --build/,
    );
    // The project's own words come first, there and before the log.
    expect(exit.stderr).toMatch(/^treadle: the flux capacitor is missing\nRevision 1 of broken ended as/m);
    const logged = await client.run(["logs", "broken", "--build"]);
    expect(logged.stderr).toMatch(/^the flux capacitor is missing\n/);
    expect(logged.stdout).toContain("$ node install.js");
    const told = await client.run(["deploy", ...install, "--json"], { cwd });
    expect(told.code).toBe(15);
    expect(JSON.parse(told.stdout)).toMatchObject({ revision: { status: "BUILD_FAILED" } });
    expect(JSON.parse(told.stderr)).toMatchObject({ error: { code: "client.not_deployed", exit_code: 15 } });
  });

  test("what a tool prints when it fails is printed once, and what it failed with last", async () => {
    const printed = ["npm error code E404", "npm error 404 Not Found - GET gone", "npm error 404 it is gone"];
    const text = JSON.stringify(printed.join("\n"));
    const cwd = await project("gone", "x", { "install.js": `console.error(${text}); process.exit(1);` });
    const { stderr } = await client.run(["deploy", ...install], { cwd });
    expect(stderr).toMatch(/^treadle: 404 Not Found - GET gone\nRevision 1 of gone ended as/m);
    const logged = await client.run(["logs", "gone", "--build"]);
    for (const shown of [stderr, logged.stdout + logged.stderr])
      expect(printed.map((line) => shown.split(line).length - 1)).toEqual([1, 1, 1]);
    // The server's log does not have them, nor does a part of the build's.
    const all = /^404 Not Found - GET gone\n {2}npm error code E404\n {2}npm error 404 it is gone\n/;
    for (const part of [
      ["--revision", "1"],
      ["--build", "--level", "critical"],
      ["--build", "-n", "1"],
    ])
      expect((await client.run(["logs", "gone", ...part])).stderr).toMatch(all);
  });

  test("Ctrl-C leaves the deployment going and says how to follow it", async () => {
    const gates = await startGateServer();
    onTestFinished(() => gates.stop());
    const cwd = await project("patient", "later", {
      "install.js": `import { symlinkSync } from "node:fs";
console.log("waiting at the gate");
${gates.wait("install")}
symlinkSync(${JSON.stringify(join(treadleBin, "../../node_modules"))}, "node_modules");`,
    });
    const running = client.terminal(["deploy", ...install], { cwd });
    await waitUntil(() => running.text().includes("waiting at the gate"), {
      what: "the build to begin",
      timeoutMs: 60_000,
      evidence: running.text,
    });
    running.type("\u0003");
    const exit = await running.exited;
    expect(exit.code).toBe(130);
    expect(exit.stdout).toContain("treadle logs patient --build -f");
    gates.open("install");
    const { body } = await plane.call<{ resources: DeploymentBody[] }>("GET", "/v2/deployments?name=patient");
    const [made] = body.resources;
    expect(await revisionDone(plane, made!.id, made!.latest_revision_id!)).toMatchObject({
      status: "DEPLOYED",
    });
  });

  test("--timeout ends the wait with 16, --no-wait does not wait", async () => {
    const cwd = await project("slow", "x", { "install.js": "setInterval(() => {}, 1000);" });
    const exit = await client.run(["deploy", ...install, "--timeout", "1s"], { cwd });
    expect(exit).toMatchObject({ code: 16, stderr: expect.stringContaining("continues") });
    const started = await client.json<Result>(["deploy", ...install, "--no-wait"], { cwd });
    expect(started.revision.number).toBe(2);
    expect((await client.run(["deployments", "delete", "slow", "--yes"])).code).toBe(0);
  });

  test("a folder without a project file ends with 10", async () => {
    const cwd = join(folder.path, "empty");
    await mkdir(cwd);
    const exit = await client.run(["deploy"], { cwd });
    expect(exit).toMatchObject({ code: 10, stderr: expect.stringContaining("langgraph.json") });
  });

  test("--git takes the pushed commit of this repository, and nothing that is not pushed", async () => {
    const server = await startGitServer();
    try {
      const repository = await server.createRepository("from-git", quickProject("from git"));
      const cwd = join(folder.path, "clone");
      await git(folder.path, "clone", "--quiet", repository.url, cwd);
      const { revision, url } = await client.json<Result>(["deploy", "--git", "-n", "from-git", ...install], {
        cwd,
      });
      expect(revision.source_revision_config.repo_commit_sha).toBe(await repository.resolve("main"));
      expect(await versionOf(url)).toMatchObject({ answer: "from git" });
      await writeFile(join(cwd, "graph.js"), "changed");
      const dirty = await client.run(["deploy", "--git", "-n", "from-git"], { cwd });
      expect(dirty).toMatchObject({ code: 1, stderr: expect.stringContaining("not committed: graph.js") });
      await git(cwd, "commit", "--quiet", "--all", "--message", "change");
      const unpushed = await client.run(["deploy", "--git", "-n", "from-git"], { cwd });
      expect(unpushed).toMatchObject({ code: 1, stderr: expect.stringContaining("Push it first") });
    } finally {
      await server.stop();
    }
  });
});

describe("what is deployed", { timeout: 240_000 }, () => {
  test("is listed, shown and found by a near name", async () => {
    const table = await client.run(["deployments"]);
    expect(table).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^NAME +STATUS[\s\S]*\nseen +serving /m),
    });
    // It never served, and is not told to be ready.
    expect(table.stdout).toMatch(/^broken +build failed /m);
    const listed = await client.json<DeploymentBody[]>(["deployments"]);
    expect(listed.map(({ name }) => name)).toContain("piped");
    const shown = await client.run(["deployments", "get", "piped"]);
    expect(shown.stdout).toMatch(/Serves +revision 2[\s\S]*Secrets +SUFFIX/);
    expect(shown.stdout).toMatch(/Pages +http:\/\/piped\S*\.localhost:\d+/);
    const wrong = await client.run(["deployments", "get", "pipped"]);
    expect(wrong).toMatchObject({ code: 14, stderr: expect.stringContaining("Did you mean piped?") });
  });

  test("fits a narrow terminal", async () => {
    const { stdout } = await client.terminal(["deployments"], { columns: 60 }).exited;
    const lengths = lastScreen(stdout)
      .split("\n")
      .map((line) => line.length);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(60);
  });

  test("is rolled back to the revision that served before", async () => {
    const cwd = join(folder.path, "seen");
    await writeProject(cwd, quickProject("three", named("seen")));
    const second = await client.json<Result>(["deploy", ...install, "-n", "seen"], { cwd });
    expect(await versionOf(second.url)).toMatchObject({ answer: "three" });
    const exit = await client.run(["rollback", "seen"]);
    expect(exit).toMatchObject({ code: 0, stdout: `${second.url}\n` });
    expect(await versionOf(second.url)).toMatchObject({ answer: "two" });
    const { stdout } = await client.run(["revisions", "seen"]);
    expect(stdout).toMatch(/● +3 +DEPLOYED.*revision 1 again[\s\S]*2 +replaced/);
    expect((await client.run(["rollback", "seen", "2"])).code).toBe(0);
    expect(await versionOf(second.url)).toMatchObject({ answer: "three" });
    expect(await client.run(["rollback", "seen", "99"])).toMatchObject({ code: 14 });
  });

  test("has logs that can be narrowed and followed", async () => {
    const lines = (text: string) => text.trim().split("\n");
    const build = await client.run(["logs", "seen", "--build", "-r", "1", "--json", "-q", "LINKED"]);
    expect(lines(build.stdout).map((line) => JSON.parse(line).message)).toEqual(["linked the packages"]);
    const two = await client.run(["logs", "seen", "-n", "2"]);
    expect(lines(two.stdout)).toHaveLength(2);
    const none = await client.run(["logs", "seen", "--level", "critical"]);
    expect(none).toMatchObject({ code: 0, stdout: "" });
    expect(await client.run(["logs", "seen", "--level", "loud"])).toMatchObject({ code: 1 });
    const since = await client.run(["logs", "seen", "--since", "1h"]);
    expect(since.stdout).toContain("Serving echo");

    const following = client.terminal(["logs", "seen", "-f"]);
    await waitUntil(() => following.text().includes("Serving echo"), {
      what: "the first lines",
      timeoutMs: 20_000,
    });
    const before = following.text().split("Serving echo").length;
    expect((await client.run(["rollback", "seen"])).code).toBe(0);
    await waitUntil(() => following.text().split("Serving echo").length > before, {
      what: "a new line to be shown",
      timeoutMs: 30_000,
      evidence: following.text,
    });
    following.type("\u0003");
    expect((await following.exited).code).toBe(130);
  });

  test("answers a run, token by token, and lists it", async () => {
    const said = await client.run(["runs", "start", "-d", "seen", "--input", "Hello"]);
    expect(said).toMatchObject({ code: 0, stdout: expect.stringMatching(/^(two|three)\n$/) });
    const thread = /--thread (\S+)/.exec(said.stderr)?.[1] ?? "";
    const more = await client.run(
      ["runs", "start", "echo", "-d", "seen", "-i", "-", "-t", thread, "--json"],
      {
        input: '{"messages": []}',
      },
    );
    const events = more.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { event: string });
    expect(events.map(({ event }) => event)).toContain("values");
    const runs = await client.json<{ status: string; thread_id: string }[]>(["runs", "seen"]);
    expect(runs.map(({ status, thread_id }) => [status, thread_id])).toEqual([
      ["success", thread],
      ["success", thread],
    ]);
    expect(await client.run(["runs", "start", "ecko", "-d", "seen", "-i", "x"])).toMatchObject({
      code: 14,
      stderr: expect.stringContaining("Did you mean echo?"),
    });
  });

  test("is stopped, started and restarted; a revision of a stopped one waits, and the command does not", async () => {
    const stopped = await client.run(["deployments", "stop", "seen"]);
    expect(stopped).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("treadle deployments start seen"),
    });
    expect((await client.run(["deployments"])).stdout).toMatch(/seen +stopped/);
    expect(await client.run(["deployments", "restart", "seen"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is stopped. Start it instead."),
    });
    expect(await client.run(["rollback", "seen"])).toMatchObject({
      code: 15,
      stderr: expect.stringContaining("treadle deployments start seen"),
    });
    const started = await client.run(["deployments", "start", "seen"]);
    expect(started).toMatchObject({ code: 0, stdout: expect.stringMatching(/^seen (serves at|is meant)/) });
    expect((await client.run(["deployments", "restart", "seen"])).code).toBe(0);
  });

  test("is deleted only when somebody says so", async () => {
    const asked = await client.run(["deployments", "delete", "broken"]);
    expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining("--yes") });
    const wrong = client.terminal(["deployments", "delete", "broken"]);
    await waitUntil(() => wrong.text().includes("Type broken"), { what: "the question", timeoutMs: 20_000 });
    wrong.type("no\r");
    expect((await wrong.exited).code).toBe(1);
    const right = client.terminal(["deployments", "delete", "broken"]);
    await waitUntil(() => right.text().includes("Type broken"), { what: "the question", timeoutMs: 20_000 });
    right.type("broken\r");
    expect((await right.exited).code).toBe(0);
    expect((await client.json<DeploymentBody[]>(["deployments"])).map(({ name }) => name)).not.toContain(
      "broken",
    );
  });
});

describe("completion", () => {
  test("bash completes commands, options and the names of deployments", { timeout: 240_000 }, async () => {
    const bin = join(folder.path, "bin");
    await mkdir(bin);
    await writeFile(join(bin, "treadle"), `#!/bin/sh\nexec '${process.execPath}' '${treadleBin}' "$@"\n`);
    await chmod(join(bin, "treadle"), 0o755);
    const complete = async (...words: string[]) => {
      const script = `source <(treadle completion bash)
COMP_WORDS=(treadle ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}
_treadle; printf '%s\\n' "\${COMPREPLY[@]}"; complete -p treadle >&2`;
      const { stdout, stderr } = await runCommand("bash", ["--norc", "-c", script], {
        env: {
          PATH: `${bin}:${process.env.PATH}`,
          HOME: folder.path,
          TREADLE_URL: plane.url,
          TREADLE_API_KEY: plane.apiKey,
        },
      });
      expect(stderr).toContain("-F _treadle treadle");
      return stdout.trim().split("\n");
    };
    // Whoever presses TAB is not kept waiting: there are none when the server takes long to answer.
    const names = (...words: string[]) =>
      waitUntil(
        async () => {
          const found = await complete(...words);
          return found[0] === "" ? undefined : found;
        },
        { what: `names after ${words.join(" ")}`, timeoutMs: 90_000 },
      );
    expect(await complete("alerts", "g")).toEqual(["get"]);
    expect(await complete("dep")).toEqual(["deploy", "deployments"]);
    expect(await complete("logs", "--fo")).toEqual(["--follow"]);
    expect(await names("logs", "se")).toEqual(["seen"]);
    expect(await names("runs", "start", "--deployment", "pip")).toEqual(["piped"]);
    expect(await complete("keys", "create", "ci", "--role", "")).toEqual(["viewer", "editor", "admin"]);
    expect(await complete("deployments", "")).toEqual([
      ...["list", "get", "restart", "stop", "start", "sleep", "wake"],
      ...["previews", "domains", "delete", "help"],
    ]);
    expect(await complete("deploy", "--unknown-")).toEqual([""]);
  });
});
