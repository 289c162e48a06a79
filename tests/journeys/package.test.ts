import { existsSync } from "node:fs";
import { cp, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../support/components/run-command.ts";
import type { TempFolder } from "../support/components/temp-folder.ts";
import { createDataParent, type RunningTreadle, runTreadle, startTreadle } from "../support/treadle.ts";

const project = fileURLToPath(new URL("../../", import.meta.url));

let parent: TempFolder;
let unpacked: string;
let server: RunningTreadle;

/** What `npm publish` would send, unpacked beside the packages it needs: compiled code, and no sources. */
async function unpackPackage(): Promise<string> {
  const stage = join(parent.path, "stage");
  await mkdir(stage);
  for (const part of ["package.json", "bin", "migrations", "templates", "web", "docs", "openapi", "python"]) {
    await cp(join(project, part), join(stage, part), { recursive: true });
  }
  const patient = { cwd: project, timeoutMs: 300_000 };
  await runCommand("tsc", ["-p", "tsconfig.build.json", "--outDir", join(stage, "dist")], patient);
  const start = join(stage, "dist", "start");
  await runCommand(process.execPath, ["scripts/build-start.ts", "--out", start], patient);
  const { stdout } = await runCommand("npm", ["pack", "--ignore-scripts", "--json"], { cwd: stage });
  const [packed] = Object.values(JSON.parse(stdout) as Record<string, { filename: string }>);
  await runCommand("tar", ["xzf", join(stage, packed?.filename ?? ""), "-C", parent.path]);
  const unpacked = join(parent.path, "package");
  await symlink(join(project, "node_modules"), join(unpacked, "node_modules"));
  return unpacked;
}

beforeAll(async () => {
  parent = await createDataParent("package");
  unpacked = await unpackPackage();
  expect(existsSync(join(unpacked, "dist/start/main.js"))).toBe(true);
  server = await startTreadle(["--data-dir", join(parent.path, "data")], {
    bin: join(unpacked, "bin/treadle.js"),
  });
}, 600_000);
afterAll(async () => {
  await server?.stop();
  await parent?.remove();
});

test("the packed package runs an agent and serves its pages", async () => {
  const client = new Client({ apiUrl: server.ready.url });
  const thread = await client.threads.create();
  const messages = [{ role: "user", content: "Hello" }];
  const values = await client.runs.wait(thread.thread_id, "agent", { input: { messages } });
  expect((values as { messages: unknown[] }).messages).toHaveLength(2);

  for (const page of ["/chat", "/docs"]) {
    const answer = await fetch(server.ready.url + page);
    expect({ page, status: answer.status }).toEqual({ page, status: 200 });
    expect(await answer.text()).toContain("<script");
  }
});

test.each(["typescript", "python"])(
  "it brings the project that `treadle new` makes in %s",
  async (template) => {
    const bin = join(unpacked, "bin/treadle.js");
    const made = await runTreadle(["new", join(parent.path, template), "--template", template, "--json"], {
      bin,
    });
    expect(made.stderr).toBe("");
    expect(JSON.parse(made.stdout)).toMatchObject({
      files: expect.arrayContaining([".env", ".gitignore", "README.md", "langgraph.json"]),
    });
  },
);
