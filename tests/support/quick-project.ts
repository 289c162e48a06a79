import { fileURLToPath } from "node:url";
import type { GitFiles } from "./components/git-repository.ts";

const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));

/**
 * A project that takes no time to install: its install command links this repository's packages. `answer` is what
 * its graph answers, so that a test can see which revision serves.
 */
export function quickProject(answer: string, more: GitFiles = {}): GitFiles {
  return {
    "package.json": JSON.stringify({ name: "quick", private: true, type: "module" }),
    "langgraph.json": JSON.stringify({ graphs: { echo: "./graph.js:graph" }, http: { app: "./app.js:app" } }),
    "install.js": `import { symlinkSync } from "node:fs";
symlinkSync(${JSON.stringify(modules)}, "node_modules");
console.log("linked the packages");
`,
    "graph.js": `import { AIMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
export const graph = new StateGraph(MessagesAnnotation)
  .addNode("echo", async () => ({ messages: [new AIMessage(${JSON.stringify(answer)} + (process.env.SUFFIX ?? ""))] }))
  .addEdge(START, "echo")
  .addEdge("echo", END)
  .compile();
`,
    "app.js": `import { Hono } from "hono";
export const app = new Hono();
app.get("/version", (c) => c.json({ answer: ${JSON.stringify(answer)}, suffix: process.env.SUFFIX ?? null }));
app.get("/user", (c) => c.json({ uid: process.getuid() }));
app.post("/grow", (c) => { const all = []; for (let i = 0; i < 150; i += 1) all.push(Buffer.alloc(10_000_000, i)); return c.json({ grown: all.length }); });
app.get("/environment", (c) => c.json(process.env));
app.post("/die", (c) => { setTimeout(() => process.exit(7), 20); return c.text("dying"); });
app.post("/echo", async (c) => c.text(await c.req.text()));
app.get("/slow", (c) => {
  const parts = Number(c.req.query("parts") ?? 30);
  let count = 0;
  const body = new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      controller.enqueue(new TextEncoder().encode("data: " + count + "\\n\\n"));
      count += 1;
      if (count === parts) controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
});
`,
    ...more,
  };
}

export const quickInstall = "node install.js";
