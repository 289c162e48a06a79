import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findInterpreter } from "./python-interpreter.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-interpreter-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** A program that answers as a Python of that version would. */
async function install(path: string, answer: string | { version: number[]; langgraph: string | null }) {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  const script = typeof answer === "string" ? answer : `echo '${JSON.stringify(answer)}'`;
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o700);
  return file;
}

const good = { version: [3, 12, 1], langgraph: "1.2.20" };
const find = (environment: Record<string, string> = {}) =>
  findInterpreter({ directory: folder, environment: { PATH: join(folder, "path"), ...environment } });

describe("the Python of a project", () => {
  it("is the one that was named, then the active one, then the project's, then any", async () => {
    const onPath = await install("path/python3", good);
    expect(await find()).toEqual({ path: "python3", version: "3.12.1" });
    const own = await install(".venv/bin/python", good);
    expect((await find()).path).toBe(own);
    const active = await install("active/bin/python", good);
    expect((await find({ VIRTUAL_ENV: join(folder, "active") })).path).toBe(active);
    expect((await find({ VIRTUAL_ENV: join(folder, "active"), TREADLE_PYTHON: onPath })).path).toBe(onPath);
  });

  it("is one that can run graphs; what prints before it answers does not matter", async () => {
    await install(".venv/bin/python", { version: [3, 9, 2], langgraph: "1.2.20" });
    await install("path/python3", { version: [3, 12, 1], langgraph: null });
    await install("path/python", `echo hello; echo '${JSON.stringify(good)}'`);
    expect((await find()).path).toBe("python");
  });

  it("is not replaced where one was named", async () => {
    await install("path/python3", good);
    await expect(find({ TREADLE_PYTHON: join(folder, "gone") })).rejects.toThrow(
      `${join(folder, "gone")} (TREADLE_PYTHON): not there`,
    );
  });

  it("that is missing is an error that lists what was tried and says what to do", async () => {
    await install("active/bin/python", { version: [3, 9, 2], langgraph: "1.2.20" });
    await install(".venv/bin/python", { version: [3, 11, 0], langgraph: null });
    await install("path/python3", "echo broken >&2; exit 1");
    const error = await find({ VIRTUAL_ENV: join(folder, "active") }).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "graph.python_missing" });
    const { message } = error as Error;
    expect(message).toContain("active/bin/python (VIRTUAL_ENV): Python 3.9.2 is too old");
    expect(message).toContain("(the project's .venv): Python 3.11.0 without the package langgraph");
    expect(message).toContain("python3 (PATH): failed: broken");
    expect(message).toContain("python (PATH): not there");
    expect(message).toMatch(/set TREADLE_PYTHON/);
  });

  it("with a library that is too old is refused", async () => {
    await install("path/python3", { version: [3, 11, 0], langgraph: "0.5.4" });
    await expect(find()).rejects.toThrow("its langgraph 0.5.4 is too old");
    await install("path/python3", { version: [3, 11, 0], langgraph: "0.6.11" });
    expect((await find()).path).toBe("python3");
  });
});
