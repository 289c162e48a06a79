import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findLockHolder, lockDataFolder } from "./data-folder-lock.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle lock "));
});
afterEach(() => rm(folder, { recursive: true }));

async function startHolder(dataDir: string) {
  const module = JSON.stringify(new URL("./data-folder-lock.ts", import.meta.url).href);
  const script = `const { lockDataFolder } = await import(${module});
    await lockDataFolder(${JSON.stringify(dataDir)});
    console.log("locked");
    setInterval(() => {}, 60_000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [text] = await once(child.stdout, "data");
  expect(String(text).trim()).toBe("locked");
  return child;
}

test("a second lock names the process that holds the folder", async () => {
  const holder = await startHolder(folder);
  try {
    await expect(lockDataFolder(folder)).rejects.toMatchObject({
      code: "data_folder.locked",
      message: expect.stringContaining(`process ${holder.pid} holds it`),
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

test("release leaves nothing behind and the next lock works", async () => {
  const first = await lockDataFolder(folder);
  await first.release();
  expect(await readdir(folder)).toEqual([]);
  const second = await lockDataFolder(folder);
  await second.release();
});

test("of many that start at once over a dead lock, exactly one wins", async () => {
  const dead = await startHolder(folder);
  dead.kill("SIGKILL");
  await once(dead, "exit");
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => lockDataFolder(folder)));
  const won = outcomes.filter((outcome) => outcome.status === "fulfilled");
  expect(won).toHaveLength(1);
  expect(await findLockHolder(folder)).toEqual({ pid: process.pid });
  await won[0]?.value.release();
});

test("a folder too deep for a socket address can be locked", async () => {
  const deep = join(folder, "d".repeat(100), "e".repeat(100));
  await mkdir(deep, { recursive: true });
  const lock = await lockDataFolder(deep);
  await expect(lockDataFolder(deep)).rejects.toMatchObject({ code: "data_folder.locked" });
  await lock.release();
});
