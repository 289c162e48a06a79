import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { openReactClients, type ReactClient } from "../support/react-client.ts";
import { type PythonAgent, startPythonAgent } from "./python-agent.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 240_000 });

const run = promisify(execFile);
let database: TestDatabase;
let folder: TempFolder;
let agent: PythonAgent;
let clients: Awaited<ReturnType<typeof openReactClients>>;

beforeAll(async () => {
  [database, folder, clients] = await Promise.all([
    createTestDatabase(),
    createTempFolder("real-clients"),
    openReactClients(),
  ]);
  agent = await startPythonAgent(database);
});
afterEach(() => clients.closeAll());
afterAll(async () => {
  await clients?.stop();
  await agent?.process.stop();
  await database?.drop();
  await folder?.remove();
});

/** What a Python program of these tests prints. */
async function told(script: string): Promise<string> {
  const file = path.join(import.meta.dirname, script);
  const environment = { PATH: process.env.PATH };
  const { stdout } = await run(process.env.TREADLE_TEST_PYTHON!, [file, agent.ready.url, folder.path], {
    env: environment,
  });
  return stdout;
}

describe("the unmodified clients of Python", () => {
  it("find every method of theirs served", async () => {
    expect(await told("sdk-methods.py")).toMatch(/^\d+ asynchronous methods\n\d+ synchronous methods$/m);
  });

  it("follow the streaming protocol, over both transports", async () => {
    expect(await told("protocol-streams.py")).toBe("followed\n");
  });

  it("use its graphs as nodes of graphs elsewhere", async () => {
    expect(await told("remote-graphs.py")).toBe("remote\n");
  });
});

describe.each(["sse", "websocket"])("useStream over %s", (transport) => {
  const open = (assistant: string): Promise<ReactClient> =>
    clients.open({ api: agent.ready.url, assistant, transport });

  it("shows messages, tools, a subagent and its messages", async () => {
    const client = await open("research");
    const file = path.join(folder.path, `go-${transport}`);
    const asked = `wait for ${file}`;
    await client.say(asked);
    await client.until("the subagent", ({ subagents }) => subagents[0] === "researcher: running");
    const below = client.page.getByLabel("Subagents");
    await below.getByText(asked).first().waitFor();
    await writeFile(file, "");
    await below.getByText(`found: ${asked}`).first().waitFor();
    const answer = `ai: In short: found: ${asked}`;
    const shown = await client.settled([`human: ${asked}`, "ai: ", `tool: found: ${asked}`, answer]);
    expect(shown).toMatchObject({
      toolCalls: ["task: finished"],
      subagents: ["researcher: complete"],
      error: null,
    });
    await client.reload();
    await client.settled(shown.messages);
    expect(client.troubles).toEqual([]);
  });

  it("answers a question, also one of a graph below and one found after a reload", async () => {
    for (const assistant of ["approval", "nested"]) {
      const client = await open(assistant);
      await client.submit({ subject: "go" });
      await client.idleWith({ interrupts: [{ question: "May I go?" }] });
      await client.reload();
      await client.idleWith({ interrupts: [{ question: "May I go?" }] });
      await client.respond("yes");
      const values = { subject: "go", answer: "yes" };
      await client.idleWith({ interrupts: [], values, error: null, refusals: [] });
      expect(client.troubles).toEqual([]);
    }
  });
});

describe("useStream", () => {
  const open = (assistant: string): Promise<ReactClient> => clients.open({ api: agent.ready.url, assistant });

  it("speaks to a Python and a TypeScript assistant on one thread", async () => {
    const client = await open("echo");
    await client.say("one");
    const first = ["human: one", "ai: You said: one"];
    await client.settled(first);
    await client.chooseAssistant("twin");
    await client.say("two");
    const second = [...first, "human: two", "ai: You said: two"];
    await client.settled(second);
    await client.chooseAssistant("echo");
    await client.say("three");
    await client.settled([...second, "human: three", "ai: You said: three"]);
    expect(client.troubles).toEqual([]);
  });

  it("says why a run failed, and stops one", async () => {
    const failing = await open("trouble");
    await failing.submit({ kind: "raise" });
    await failing.idleWith({ error: "Error: the node's own words", ended: ["error"] });

    const client = await open("steps");
    await client.submit({ folder: folder.path, wait: "second" });
    await waitUntil(
      async () =>
        (await readFile(path.join(folder.path, "began"), "utf8").catch(() => "")).includes("second"),
      { what: "its second step", timeoutMs: 20_000, intervalMs: 50 },
    );
    await client.press("Stop");
    const { threadId } = await client.until("the end", ({ isLoading }) => !isLoading);
    await waitUntil(async () => (await agent.client.runs.list(threadId!))[0]?.status === "interrupted", {
      what: "the server to have stopped it",
      timeoutMs: 20_000,
      intervalMs: 50,
    });
    expect([...failing.troubles, ...client.troubles]).toEqual([]);
  });
});
