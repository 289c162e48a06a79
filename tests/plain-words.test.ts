import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

/** What people read is plain English: sentences of the code and the documents are searched for what is not. */
const root = fileURLToPath(new URL("..", import.meta.url));

const hard = [
  /\b(?:the|a|an|its|to) this\.#\w+/, // the name of a field in a sentence
  /\b(?:is|are|was) told by the\b/i,
  /\bwas said yet\b/i,
  /\bcomes? along\b/i,
  /\bholds? up words\b/i,
  /\bgoes? on by itself\b/i,
  /\bask again in a moment\b/i,
  /\bsealed anew\b/i,
  /\bwhoever runs this\b/i,
  /\bserves? on\b[.;]/i,
  /\bgives its place back\b/i,
];

function filesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:tsx?|md|py)$/.test(name) && !/node_modules|\/dist\//.test(name))
    .map((name) => join(folder, name));
}

const files = [
  ...["src", "web/console/src", "web/chat/src", "docs", "examples", "python", "templates"].flatMap(
    filesUnder,
  ),
  ...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md"],
];

it("no sentence holds the name of a field, or words that readers stumbled over", () => {
  const found = files.flatMap((path) =>
    readFileSync(join(root, path), "utf8")
      .split("\n")
      .flatMap((line, at) =>
        hard.some((words) => words.test(line)) ? [`${path}:${at + 1}: ${line.trim()}`] : [],
      ),
  );
  expect(found).toEqual([]);
});
