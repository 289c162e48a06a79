import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startReloadingAgent } from "../support/reloading-agent.ts";
import { runTreadle } from "../support/treadle.ts";

const source = `
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { word } from "./word.ts";

const State = Annotation.Root({
  waitFor: Annotation<string | undefined>(),
  words: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
});

export const graph = new StateGraph(State)
  .addNode("speak", async ({ waitFor }) => {
    while (waitFor && !existsSync(waitFor)) await pause(20);
    return { words: [word + (process.env.ENDING ?? "")] };
  })
  .addEdge(START, "speak")
  .compile();
`;

let database: TestDatabase;
let parent: string;
let folder: string;
let agent: Awaited<ReturnType<typeof startReloadingAgent>>;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  parent = await mkdtemp(join(tmpdir(), "treadle-reload-"));
  folder = join(parent, "My agent");
  expect(await runTreadle(["new", folder, "--template", "typescript"])).toMatchObject({ code: 0 });
  await symlink(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(folder, "node_modules"));
  await writeFile(join(folder, "src/speaker.ts"), source);
  await writeFile(join(folder, "src/word.ts"), 'export const word = "one";\n');
  const file = { env: ".env", graphs: { agent: "./src/agent.ts:graph", speaker: "./src/speaker.ts:graph" } };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify(file));
  agent = await startReloadingAgent(folder, {
    DATABASE_URL: database.url,
    BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "120",
  });
  client = new Client({ apiUrl: agent.ready.url, apiKey: null, callerOptions: { maxRetries: 0 } });
}, 90_000);

afterAll(async () => {
  await agent.process.kill();
  await database.drop();
  await rm(parent, { recursive: true, force: true });
});

async function speak(threadId: string): Promise<string[]> {
  const { words } = (await client.runs.wait(threadId, "speaker", { input: {} })) as { words: string[] };
  return words;
}

test("a new project runs without a key, and its folder is not written over", async () => {
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as { name: string };
  expect(manifest.name).toBe("my-agent");
  expect(await readFile(join(folder, ".gitignore"), "utf8")).toContain(".env");
  const input = { messages: [{ role: "user", content: "How is the weather in Vienna?" }] };
  const { messages } = (await client.runs.wait(null, "agent", { input })) as {
    messages: { type: string; content: string }[];
  };
  expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
  expect(messages.at(-1)!.content).toContain("sunny in Vienna");
  const again = await runTreadle(["new", folder, "--template", "python"]);
  expect(again).toMatchObject({ code: 1 });
  expect(again.stderr).toContain("is not empty");
});

test("a change is served beside runs of before, and what does not load changes nothing", async () => {
  const { thread_id: threadId } = await client.threads.create();
  expect(await speak(threadId)).toEqual(["one"]);

  const gate = join(folder, "gate");
  const slow = await client.threads.create();
  const run = await client.runs.create(slow.thread_id, "speaker", { input: { waitFor: gate } });
  const status = async () => (await client.runs.get(slow.thread_id, run.run_id)).status;
  await waitUntil(async () => (await status()) === "running", { what: "the slow run", timeoutMs: 20_000 });

  const changed = await agent.change("src/word.ts", () => 'export const word = "two";\n');
  expect(changed).toMatchObject({ reloaded: true, changed: [join(folder, "src/word.ts")] });
  expect(await speak(threadId)).toEqual(["one", "two"]);
  expect(await status()).toBe("running");

  const failed = await agent.change("src/speaker.ts", (text) =>
    text.replace("START, StateGraph }", "START,, }"),
  );
  expect(failed).toMatchObject({ reloaded: false });
  expect(failed.error!.message).toContain(`${join(folder, "src/speaker.ts")}:4:`);
  expect(await speak(threadId)).toEqual(["one", "two", "two"]);

  const throwing = `${source}\nthrow new TypeError("not today");`;
  const thrown = await agent.change("src/speaker.ts", () => throwing);
  const place = `${join(folder, "src/speaker.ts")}, line ${throwing.split("\n").length}`;
  expect(thrown.error!.message).toContain(`TypeError: not today (${place})`);

  expect(await agent.change("src/speaker.ts", () => source)).toMatchObject({ reloaded: true });
  // Begun before all of these: it ends as it was loaded, once it may.
  await writeFile(gate, "");
  const { words } = (await client.runs.join(slow.thread_id, run.run_id)) as { words: string[] };
  expect(words).toEqual(["one"]);

  expect(await agent.change(".env", () => "ENDING=!\n")).toMatchObject({ reloaded: true });
  expect(await speak(threadId)).toEqual(["one", "two", "two", "two!"]);
  const withAnother = await agent.change("langgraph.json", (text) =>
    text.replace('"graphs":{', '"graphs":{"second":"./src/speaker.ts:graph",'),
  );
  expect(withAnother).toMatchObject({ reloaded: true, graphs: ["second", "agent", "speaker"] });
  expect(await client.assistants.search({ graphId: "second" })).toHaveLength(1);
}, 180_000);

test("it stops in order, and no process of it is left", async () => {
  const children = await readFile(`/proc/${agent.ready.pid}/task/${agent.ready.pid}/children`, "utf8");
  const pids = children.trim().split(/\s+/).filter(Boolean);
  expect(pids.length).toBeGreaterThan(0);
  expect(await agent.process.stop()).toMatchObject({ code: 0 });
  const alive = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  expect(alive.filter((command) => command.includes("treadle"))).toEqual([]);
}, 60_000);
