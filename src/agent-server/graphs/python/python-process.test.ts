import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keepLogs } from "../../../../tests/support/logged-lines.ts";
import { MemoryKills } from "./memory-kills.ts";
import { PythonProcess } from "./python-process.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-process-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Any program can stand where Python does, as far as its beginning and its end are concerned. */
async function start(
  script: string,
  memoryLimitMb: number | null = null,
  memoryKills?: MemoryKills,
  environment?: Record<string, string | undefined>,
) {
  const interpreter = join(folder, `${Math.random()}.sh`);
  await writeFile(interpreter, `#!/bin/sh\n${script}\n`);
  await chmod(interpreter, 0o700);
  const { logger, text } = keepLogs();
  const lines = () =>
    text()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { msg: string });
  const handlers = { unary: {}, streaming: {}, noted: {} };
  const child = new PythonProcess({
    interpreter,
    main: "main.py",
    directory: folder,
    handlers,
    logger,
    memoryLimitMb,
    ...(memoryKills ? { memoryKills } : {}),
    ...(environment ? { environment } : {}),
  });
  return { child, lines };
}

/** A process that ended may still be listed, until it is reaped. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "gone) Z");
  return !/\) Z/.test(stat);
}

describe("a Python process", () => {
  it("works in the project's folder, and what it prints is logged", async () => {
    const { child, lines } = await start('pwd; echo "$1 $2"; echo oh >&2; printf "no end"');
    await child.ended;
    const texts = lines().map(({ msg }) => msg);
    expect(texts).toEqual(expect.arrayContaining([folder, "-u main.py", "oh", "no end"]));
  });

  it("has the environment it is given, or that of this process", async () => {
    const script = 'echo "$GIVEN:$VITEST"';
    const given = await start(script, null, undefined, { GIVEN: "/all.pem", VITEST: undefined });
    const inherited = await start(script);
    await Promise.all([given.child.ended, inherited.child.ended]);
    expect([given.lines()[0]!.msg, inherited.lines()[0]!.msg]).toEqual(["/all.pem:", ":true"]);
  });

  it("cuts lines that have no end", async () => {
    const { child, lines } = await start("head -c 100000 /dev/zero | tr '\\0' x");
    await child.ended;
    expect(lines().map(({ msg }) => msg.length)).toEqual([8_193]);
  });

  it.each([
    [
      "its code and last words",
      "echo the reason >&2; exit 3",
      /exited with code 3\. Its last lines:\nthe reason$/,
    ],
    ["a kill", "kill -9 $$", /killed \(SIGKILL\), perhaps because the machine was out of memory/],
    ["another signal", "kill -TERM $$", /ended by SIGTERM/],
    ["nonsense on its line", "echo nonsense of some length >&3; sleep 60", /A frame declares/],
    ["nonsense on the control line", "echo nonsense >&4; sleep 60", /control line is not JSON/],
    ["a closed line", "exec 3>&-; sleep 60", /closed its connection/],
  ])("says why it ended: %s", async (_, script, expected) => {
    const { child } = await start(script);
    const error = await child.ended;
    expect(error).toMatchObject({ code: "graph.worker_lost", message: expect.stringMatching(expected) });
    await expect(child.channel.call("load")).rejects.toBe(error);
  });

  it("names the limit of memory that its kill is owed to", async () => {
    const { child } = await start("kill -9 $$", 400);
    expect((await child.ended).message).toMatch(
      /out of memory: its limit is 400 MB\. Give the deployment more/,
    );
  });

  it("says surely that it was the kernel, or was not, where the kernel's count can be read", async () => {
    const counter = join(folder, "memory.oom_control");
    await writeFile(counter, "under_oom 0\noom_kill 3\n");
    const memoryKills = new MemoryKills([join(folder, "none"), counter]);
    const ended = async (script: string) =>
      (await (await start(script, 400, memoryKills)).child.ended).message;
    const counted = (kills: number) => `echo oom_kill ${kills} > ${counter}; kill -9 $$`;
    expect(await ended(counted(4))).toMatch(
      /killed by the kernel \(SIGKILL\), because the deployment was out of memory: its limit is 400 MB\. Give/,
    );
    expect(await ended(counted(4))).toMatch(/by a person or another program: the kernel counts no kill/);
  });

  it("ends with what it started", async () => {
    const { child, lines } = await start("sleep 600 & echo $!; wait");
    await expect.poll(() => lines().length).toBe(1);
    const started = Number(lines()[0]!.msg);
    child.kill("The test is over.");
    expect((await child.ended).message).toContain("The test is over.");
    await expect.poll(() => isAlive(started)).toBe(false);
  });

  it("that is not there says so", async () => {
    const { logger } = keepLogs();
    const handlers = { unary: {}, streaming: {}, noted: {} };
    const interpreter = join(folder, "none");
    const child = new PythonProcess({ interpreter, main: "", directory: folder, handlers, logger });
    expect((await child.ended).message).toMatch(/could not be started: spawn .*none ENOENT/);
  });
});
