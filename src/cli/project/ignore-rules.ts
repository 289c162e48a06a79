/** The rules of `.gitignore` and `.dockerignore` files: which paths of a folder are left out. */
export type IgnoreRule = { pattern: RegExp; keeps: boolean; foldersOnly: boolean };

export type IgnoreStyle = "git" | "docker";

export function parseIgnoreFile(text: string, style: IgnoreStyle): IgnoreRule[] {
  return text
    .split(/\r?\n/)
    .map((line) => parseLine(line, style))
    .filter((rule) => rule !== null);
}

function parseLine(line: string, style: IgnoreStyle): IgnoreRule | null {
  let glob = style === "docker" ? line.trim() : line.replace(/(?<!\\)\s+$/, "");
  if (glob === "" || glob.startsWith("#")) return null;
  const keeps = glob.startsWith("!");
  if (keeps) glob = glob.slice(1);
  if (glob.startsWith("\\")) glob = glob.slice(1);
  const foldersOnly = style === "git" && glob.endsWith("/");
  glob = glob.replace(/\/+$/, "");
  // Docker's patterns start at the root; git's do once they hold a slash.
  const anchored = style === "docker" || glob.includes("/");
  glob = glob.replace(/^\.?\/+/, "");
  if (glob === "" || glob === ".") return null;
  const start = anchored ? "^" : "^(?:.*/)?";
  // What is below a folder that docker leaves out is matched by the folder's own pattern.
  const end = style === "docker" ? "(?:/.*)?$" : "$";
  return { pattern: new RegExp(`${start}${translate(glob)}${end}`, "s"), keeps, foldersOnly };
}

function translate(glob: string): string {
  let out = "";
  for (let place = 0; place < glob.length; place += 1) {
    const character = glob[place] ?? "";
    if (character === "*" && glob[place + 1] === "*") {
      const atStart = place === 0 || glob[place - 1] === "/";
      if (atStart && glob[place + 2] === "/") {
        out += "(?:.*/)?";
        place += 2;
      } else {
        out += ".*";
        place += 1;
      }
    } else if (character === "*") out += "[^/]*";
    else if (character === "?") out += "[^/]";
    else if (character === "[") {
      const end = glob.indexOf("]", place + 2);
      if (end < 0) out += "\\[";
      else {
        out += `[${glob
          .slice(place + 1, end)
          .replace(/^!/, "^")
          .replace(/\\/g, "\\\\")}]`;
        place = end;
      }
    } else if (character === "\\") {
      place += 1;
      out += escapePattern(glob[place] ?? "\\");
    } else out += escapePattern(character);
  }
  return out;
}

function escapePattern(character: string): string {
  return character.replace(/[.*+?^${}()|[\]\\/]/, "\\$&");
}

/** How the rules decide about a path relative to their folder; the last that matches counts. */
export function matchRules(
  rules: readonly IgnoreRule[],
  path: string,
  isFolder: boolean,
): "ignored" | "kept" | undefined {
  const rule = rules.findLast(({ pattern, foldersOnly }) => (isFolder || !foldersOnly) && pattern.test(path));
  return rule === undefined ? undefined : rule.keeps ? "kept" : "ignored";
}

const neverPacked = [
  ...["node_modules", ".git", ".treadle", ".treadle-agent", ".langgraph_api"],
  ...[".venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"],
];

/** Never part of an upload, regardless of the ignore files: what is installed by the build, and what holds secrets. */
export function isNeverPacked(name: string, isFolder: boolean): boolean {
  if (isFolder) {
    return neverPacked.includes(name);
  }
  return /^\.env(\..+)?$/.test(name) && !/\.(example|sample|template|dist)$/.test(name);
}
