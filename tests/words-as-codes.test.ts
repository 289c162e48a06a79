import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

/**
 * A sentence is for people: its words may be others tomorrow. Whoever decides something asks a code, a
 * status or a field. This finds decisions on the words of an error; it does not see all there could be.
 */
const root = fileURLToPath(new URL("..", import.meta.url));

/** Words of others, who have no codes for it, by the file that reads them. */
const allowed: Readonly<Record<string, string>> = {
  "database-errors.ts": "the driver of PostgreSQL has no code for a pool without room",
  "s3-failure.ts": "the AWS SDK has none for missing credentials",
  "body.ts": "V8 tells the place of a JSON fault in its message alone",
  "token-revocation-service.ts": "a provider's error is a code, if it looks like one",
  "user-module.ts": "TypeScript names a missing file in its message alone",
  "state-commands.ts": "the graph library has no code for a subgraph it does not know",
  "tailwind.ts": "Tailwind names what it does not know in its message alone",
  "walled-step.ts": "package managers tell a full disk in their output alone",
  "git-redirect.ts": "git tells a redirect in its output alone",
  "network.ts": "Docker has no code for networks that overlap",
};

const worded = String.raw`(?:errorMessage\([^()]*\)|\w*(?:[mM]essage|[dD]etail|[rR]efusal|[fF]ailure|error|problem|reason)\b\)?[!?]*)`;
const decisions = [
  new RegExp(
    `${worded}\\.(?:startsWith|endsWith|includes|match|search|indexOf|split)\\(\\s*["'\`/][^"'\`\\\\]`,
  ),
  new RegExp(`/[a-z]*\\.(?:test|exec)\\(\\s*(?:[\\w.?!]+\\.)?${worded}`),
  new RegExp(`${worded}\\s*[!=]==\\s*["'\`][A-Z][a-z]+ [a-z]`),
];

function filesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !/\.test\.tsx?$/.test(name))
    .map((name) => join(folder, name));
}

const found = ["src", "web/console/src", "web/chat/src"].flatMap(filesUnder).flatMap((path) => {
  const lines = readFileSync(join(root, path), "utf8").split("\n");
  return lines.flatMap((line, index) =>
    decisions.some((pattern) => pattern.test(line))
      ? [{ path, place: `${path}:${index + 1}: ${line.trim()}` }]
      : [],
  );
});

it("nothing is decided on the words of an error", () => {
  expect(found.filter(({ path }) => !(basename(path) in allowed)).map(({ place }) => place)).toEqual([]);
});

it("what is allowed is still there", () => {
  const files = new Set(found.map(({ path }) => basename(path)));
  expect(Object.keys(allowed).filter((file) => !files.has(file))).toEqual([]);
});

it.each([
  'if (error.message.startsWith("The filter ends")) return;',
  'const half = counted.filter?.message.includes("too early");',
  "if (/bucket .* does not exist/i.test(error)) return advice;",
  'const type = message === "Field required" ? "missing" : "other";',
  "const at = /position (\\d+)/.exec(errorMessage(error));",
])("it sees %s", (line) => {
  expect(decisions.some((pattern) => pattern.test(line))).toBe(true);
});

it.each([
  'if (error.code === "blob.full") return advice;',
  'if (error.code.startsWith("secret.")) return false;',
  'if (reasons.filter === "ends_too_early") return;',
  'const shown = reason.includes("\\n");',
])("it lets pass %s", (line) => {
  expect(decisions.some((pattern) => pattern.test(line))).toBe(false);
});
