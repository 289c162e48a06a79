import { expect, it } from "vitest";
import { projectListing as project } from "../../../../../../tests/support/project-listing.ts";
import { chooseFiles, isSkippedFolder } from "./project-files.ts";

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
