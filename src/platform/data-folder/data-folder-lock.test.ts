import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findLockHolder, lockDataFolder } from "./data-folder-lock.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle lock "));
});
afterEach(() => rm(folder, { recursive: true }));

/** A process of its own that locks on request, reports the outcome and stays. */
async function startContender(dataDir: string) {
  const module = JSON.stringify(new URL("./data-folder-lock.ts", import.meta.url).href);
  const script = `const { lockDataFolder } = await import(${module});
    process.stdin.once("data", async () => {
      console.log(await lockDataFolder(${JSON.stringify(dataDir)}).then(() => "locked", (error) => error.code));
      setInterval(() => {}, 60_000);
    });
    console.log("ready");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const nextLine = async () => String((await once(lines, "line"))[0]);
  expect(await nextLine()).toBe("ready");
  return { child, outcome: nextLine() };
}

async function startHolder(dataDir: string) {
  const { child, outcome } = await startContender(dataDir);
  child.stdin.write("go\n");
  expect(await outcome).toBe("locked");
  return child;
}

test("a second lock names the process that holds the folder", async () => {
  const holder = await startHolder(folder);
  try {
    await expect(lockDataFolder(folder)).rejects.toMatchObject({
      code: "data_folder.locked",
      message: expect.stringContaining(`process ${holder.pid} has locked it`),
    });
    expect(await findLockHolder(folder)).toEqual({ pid: holder.pid });
  } finally {
    holder.kill("SIGKILL");
    await once(holder, "exit");
  }
});

test("a killed holder leaves the folder free", async () => {
  const holder = await startHolder(folder);
  holder.kill("SIGKILL");
  await once(holder, "exit");
  expect(await findLockHolder(folder)).toBeNull();
  const lock = await lockDataFolder(folder);
  expect(await findLockHolder(folder)).toEqual({ pid: process.pid });
  await lock.release();
});

test("a stopped holder still holds", async () => {
  const holder = await startHolder(folder);
  try {
    holder.kill("SIGSTOP");
    await expect(lockDataFolder(folder)).rejects.toMatchObject({ code: "data_folder.locked" });
  } finally {
    holder.kill("SIGKILL");
    await once(holder, "exit");
  }
});

test("after a release the next lock works", async () => {
  const first = await lockDataFolder(folder);
  await first.release();
  expect(await findLockHolder(folder)).toBeNull();
  const second = await lockDataFolder(folder);
  await second.release();
});

test("of many that start at once over a dead lock, exactly one wins", async () => {
  const dead = await startHolder(folder);
  dead.kill("SIGKILL");
  await once(dead, "exit");
  const starters = await Promise.all(Array.from({ length: 8 }, () => startContender(folder)));
  try {
    for (const { child } of starters) child.stdin.write("go\n");
    const outcomes = await Promise.all(starters.map(({ outcome }) => outcome));
    expect(outcomes.sort()).toEqual([...Array(7).fill("data_folder.locked"), "locked"].sort());
  } finally {
    for (const { child } of starters) child.kill("SIGKILL");
  }
});

test("looking never makes or holds anything", async () => {
  expect(await findLockHolder(join(folder, "missing"))).toBeNull();
  expect(await findLockHolder(folder)).toBeNull();
  expect(await readdir(folder)).toEqual([]);
});

test("a deep folder can be locked", async () => {
  const deep = join(folder, "d".repeat(100), "e".repeat(100));
  await mkdir(deep, { recursive: true });
  const lock = await lockDataFolder(deep);
  await expect(lockDataFolder(deep)).rejects.toMatchObject({ code: "data_folder.locked" });
  await lock.release();
});
