import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { HumanMessage } from "@langchain/core/messages";
import { Command as ServerCommand, Send as ServerSend } from "@langchain/langgraph";
import { getInputTypeSchema } from "@langchain/langgraph/zod/schema";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type JavascriptProject,
  loadJavascriptProject,
} from "../../../../tests/support/javascript-project.ts";
import { loadProjectKit, loadServerKit } from "./graph-kit.ts";
import { readGraphSchemas } from "./graph-schemas.ts";

const serverModules = fileURLToPath(new URL("../../../../node_modules/", import.meta.url));
const copied = ["langgraph", "langgraph-checkpoint", "core"];

/** A project with its own copy of the graph library; what the library needs besides is linked. */
async function makeProjectWithOwnCopy(directory: string): Promise<void> {
  const modules = join(directory, "node_modules");
  await mkdir(join(modules, "@langchain"), { recursive: true });
  for (const name of await readdir(serverModules)) {
    if (name !== "@langchain" && !name.startsWith("."))
      await symlink(join(serverModules, name), join(modules, name));
  }
  for (const name of await readdir(join(serverModules, "@langchain"))) {
    const from = join(serverModules, "@langchain", name);
    const to = join(modules, "@langchain", name);
    if (!copied.includes(name)) await symlink(from, to);
    else await cp(from, to, { recursive: true, filter: (path) => !path.endsWith(".map") });
  }
  await writeFile(join(directory, "package.json"), '{ "type": "module" }');
  await writeFile(join(directory, "langgraph.json"), '{ "graphs": { "agent": "./agent.ts:graph" } }');
  await writeFile(
    join(directory, "agent.ts"),
    `import { StateGraph } from "@langchain/langgraph";
     import { registry } from "@langchain/langgraph/zod";
     import * as z from "zod";
     const reducer = { schema: z.string(), fn: (list: string[], next: string) => [...list, next] };
     const State = z.object({ items: z.array(z.string()).register(registry, { reducer, default: () => [] }) });
     export const graph = new StateGraph(State)
       .addNode("first", () => ({ items: "first" }), { ends: ["second"] })
       .addNode("second", (input: { word?: string }) => ({ items: String(input.word) }))
       .addEdge("__start__", "first")
       .compile();`,
  );
}

describe("a project with its own copy of the graph library", () => {
  let directory: string;
  let project: JavascriptProject;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "own-copy-"));
    await makeProjectWithOwnCopy(directory);
    project = await loadJavascriptProject({
      configPath: join(directory, "langgraph.json"),
      environment: {},
      applyEnvironment: () => undefined,
    });
  });
  afterAll(async () => {
    await project.close();
    await rm(directory, { recursive: true });
  });

  test("lends its classes to the server", () => {
    expect([...project.broken.values()].map(String)).toEqual([]);
    expect(project.kit.origin).toBe("project");
    expect(project.kit.directory).toBe(join(directory, "node_modules/@langchain/langgraph"));
    expect(project.kit.Send).not.toBe(ServerSend);
    expect(project.kit.messages.HumanMessage).not.toBe(HumanMessage);
  });

  test("accepts a Send of its own copy, which is why the kit exists: one of the server's is refused", async () => {
    const graph = await project.graphs.get("agent")!.resolve({}, "threads.create_run");
    const { Command, Send } = project.kit;
    const state = await graph.invoke(new Command({ goto: [new Send("second", { word: "sent" })] }));
    expect(state).toEqual({ items: ["sent"] });
    const foreign = new ServerCommand({ goto: [new ServerSend("second", { word: "sent" })] });
    await expect(graph.invoke(foreign)).rejects.toThrow(/expected Send/);
  });

  test("has its zod state read right, where the server's copy reads it wrong", async () => {
    const { kit, resolve } = project.graphs.get("agent")!;
    const graph = await resolve({}, "assistants.read");
    expect(readGraphSchemas(graph, kit).input_schema).toMatchObject({
      properties: { items: { type: "string" } },
    });
    expect(getInputTypeSchema(graph)).toMatchObject({ properties: { items: { type: "array" } } });
  });

  test("revives messages as its own classes", async () => {
    const { serde, messages } = project.kit;
    const [type, bytes] = await serde.dumpsTyped([new messages.HumanMessage("hi")]);
    const [revived] = (await serde.loadsTyped(type, bytes)) as unknown[];
    expect(Object.getPrototypeOf(revived)).toBe(messages.HumanMessage.prototype);
  });
});

test("a project without the library gets the server's", async () => {
  const directory = await mkdtemp(join(tmpdir(), "no-copy-"));
  try {
    const kit = await loadProjectKit(directory);
    expect(kit.origin).toBe("server");
    expect(kit.Send).toBe(ServerSend);
    expect(kit.version).toBe((await loadServerKit()).version);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test.each(["esm", "cjs"] as const)(
  "the installed version of the library is one that is lightened (%s)",
  async (format) => {
    // Fails after an update that changed what light-context.ts or light-callbacks.ts rely on: runs still work, at more cost.
    const { lightened } = await loadProjectKit(serverModules, format);
    expect(lightened).toEqual({ context: true, callbacks: true });
  },
);
