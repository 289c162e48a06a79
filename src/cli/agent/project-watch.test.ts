import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { ProjectWatch } from "./project-watch.ts";

let folder: string;
let watch: ProjectWatch;
let seen: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-watch-"));
  await mkdir(join(folder, "src", "deep"), { recursive: true });
  await mkdir(join(folder, "data"));
  await mkdir(join(folder, "packages"));
  await writeFile(join(folder, "packages", "pyvenv.cfg"), "");
  await writeFile(join(folder, "langgraph.json"), "{}");
  await writeFile(join(folder, "src", "deep", "a.py"), "");
  seen = [];
  watch = new ProjectWatch({
    projectFile: join(folder, "langgraph.json"),
    onChange: (files) => seen.push(...files.map((file) => file.slice(folder.length + 1))),
    onProblem: (problem) => seen.push(problem),
  });
  await watch.follow();
});

afterEach(async () => {
  watch.close();
  await rm(folder, { recursive: true, force: true });
});

const write = (name: string, text = "x") => writeFile(join(folder, name), text);
const untilSeen = (name: string) =>
  waitUntil(() => seen.includes(name), { what: `a change of ${name}`, timeoutMs: 20_000 });

test("a change, at any depth, also one that is renamed into place", async () => {
  await write("src/deep/a.py");
  await untilSeen("src/deep/a.py");
  await write("src/b.ts.tmp");
  await rename(join(folder, "src/b.ts.tmp"), join(folder, "src/b.ts"));
  await untilSeen("src/b.ts");
  await write("langgraph.json");
  await untilSeen("langgraph.json");
});

test("a folder that is new, and what is in it later", async () => {
  await mkdir(join(folder, "later"));
  await write("later/one.py");
  await untilSeen("later/one.py");
  await write("later/two.py");
  await untilSeen("later/two.py");
});

test("not what lies in an environment, what a graph writes, or a folder that is gone", async () => {
  await write("packages/c.py");
  await write("data/out.json");
  await rm(join(folder, "data"), { recursive: true });
  await write("src/last.py");
  await untilSeen("src/last.py");
  expect(seen).toEqual(["src/last.py"]);
});

test("an env file elsewhere, once the project file names it", async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), "treadle-env-"));
  try {
    const env = join(elsewhere, "settings");
    await write("langgraph.json", JSON.stringify({ env }));
    await untilSeen("langgraph.json");
    await watch.follow();
    await writeFile(env, "A=1");
    await untilSeen(env.slice(folder.length + 1));
  } finally {
    await rm(elsewhere, { recursive: true, force: true });
  }
});
