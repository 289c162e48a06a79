import { expect, it } from "vitest";
import { lookInto } from "./folder-project.ts";

const folderOf = (files: Record<string, string>) => ({
  name: "My Project",
  files: Object.entries(files).map(([path, text]) => ({ path, file: new File([text], path) })),
  skipped: ["node_modules"],
});

it("finds the graphs, and leaves out what is installed, ignored or secret", async () => {
  const found = await lookInto(
    folderOf({
      "langgraph.json": '{"graphs":{"agent":"./src/agent.ts:graph"},"env":".env"}',
      "src/agent.ts": "export const graph = 1;",
      ".env": "KEY=value",
      ".gitignore": "*.log",
      "a.log": "",
    }),
  );
  expect(found.files.map(({ path }) => path)).toEqual([".gitignore", "langgraph.json", "src/agent.ts"]);
  expect(found).toMatchObject({
    ...{ problem: null, name: "my-project", configs: ["langgraph.json"] },
    left: { ignored: 1, installed: ["node_modules"], secret: [".env"] },
    facts: { "langgraph.json": { graphs: [{ name: "agent", isThere: true }], envFile: ".env" } },
    envFiles: { ".env": "KEY=value" },
  });
  expect(found.bytes).toBe(found.files.reduce((sum, { file }) => sum + file.size, 0));
});

it("says what is missing", async () => {
  const found = await lookInto(folderOf({ "src/agent.ts": "" }));
  expect(found.problem).toContain("no langgraph.json in My Project");
});
