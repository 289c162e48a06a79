import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { startAgent } from "../support/agent-command.ts";
import { createTestDatabase } from "../support/database.ts";
import { quickProject } from "../support/quick-project.ts";
import { createDataParent } from "../support/treadle.ts";
import { writeProject } from "../support/treadle-client.ts";

const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));

/** What the C library read when the server began, and what the project's code sees. */
async function startedWith(env: Record<string, string>) {
  const [parent, database] = [await createDataParent("server-memory"), await createTestDatabase()];
  const project = await writeProject(join(parent.path, "quick"), quickProject("quick"));
  await symlink(modules, join(project, "node_modules"));
  const { process: child, ready } = await startAgent(join(project, "langgraph.json"), {
    DATABASE_URL: database.url,
    ...env,
  });
  onTestFinished(async () => {
    await child.kill();
    await database.drop();
    await parent.remove();
  });
  const begun = (await readFile(`/proc/${ready.pid}/environ`, "utf8")).split("\0");
  const seen = (await (await fetch(`${ready.url}/environment`)).json()) as Record<string, string>;
  return {
    begun: begun.filter((line) => /^(MALLOC|TREADLE_ARENAS)/.test(line)),
    seen: Object.entries(seen).filter(([name]) => /^(MALLOC|TREADLE_ARENAS)/.test(name)),
  };
}

describe("the C library of a server", { timeout: 60_000 }, () => {
  test("keeps its memory in few places, of which the project's programs inherit nothing", async () => {
    expect(await startedWith({})).toEqual({
      begun: ["MALLOC_ARENA_MAX=2", "TREADLE_ARENAS=2"],
      seen: [],
    });
  });

  test("keeps somebody's own choice", async () => {
    expect(await startedWith({ MALLOC_ARENA_MAX: "4" })).toEqual({
      begun: ["MALLOC_ARENA_MAX=4"],
      seen: [["MALLOC_ARENA_MAX", "4"]],
    });
  });

  test("has the owner's choice where the platform starts the server", async () => {
    expect(await startedWith({ MALLOC_ARENA_MAX: "4", TREADLE_ARENAS: "2" })).toMatchObject({
      seen: [["MALLOC_ARENA_MAX", "4"]],
    });
  });
});
