import { expect, it } from "vitest";
import { chooseFiles, isSkippedFolder } from "./project-files.ts";

const project: Record<string, string> = {
  ".gitignore": "*.log\n/build/\n!keep.log\n",
  ".dockerignore": "docs\n!docs/used.md\n",
  ".env": "KEY=1",
  ".env.example": "KEY=",
  "agents/.env.local": "KEY=2",
  "langgraph.json": "{}",
  "src/agent.ts": "",
  "src/agent.log": "",
  "src/keep.log": "",
  "src/.gitignore": "private.ts\n",
  "src/private.ts": "",
  "src/deep/private.ts": "",
  "build/agent.js": "",
  "src/build/agent.js": "",
  "docs/page.md": "",
  "docs/used.md": "",
  "node_modules/a/index.js": "",
  "src/node_modules/b/index.js": "",
  ".git/config": "",
  ".venv/bin/python": "",
  "agents/__pycache__/x.pyc": "",
};
const ignoreFiles = new Map(Object.entries(project).filter(([path]) => path.endsWith("ignore")));

it("keeps what is the project's own, and names what holds secrets", () => {
  const { kept, left } = chooseFiles(Object.keys(project), ignoreFiles);
  expect(kept).toEqual([
    ".dockerignore",
    ".env.example",
    ".gitignore",
    "docs/used.md",
    "langgraph.json",
    "src/.gitignore",
    "src/agent.ts",
    "src/build/agent.js",
    "src/keep.log",
  ]);
  expect(left.secret).toEqual([".env", "agents/.env.local"]);
  expect(left.installed).toEqual([".git", ".venv", "__pycache__", "node_modules"]);
  expect(left.ignored).toBe(10);
});

it("looks into no folder that is installed anew", () => {
  expect(["node_modules", ".git", ".venv"].every(isSkippedFolder)).toBe(true);
  expect(isSkippedFolder("src")).toBe(false);
});
