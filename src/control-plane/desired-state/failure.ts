/** Why a revision failed, in the words of the project's own tools: what the project's author looks for first. */
export type Failure = {
  /** In the project's folder; null where none of its files is to blame. */
  file: string | null;
  line: number | null;
  column: number | null;
  reason: string;
  /** What the tool printed, without the platform's own steps. */
  output: string[];
};

const mostLines = 60;
const linesBefore = 5;
const mostLength = 1_000;
/** What is looked through; the end of what a tool printed. */
const readLines = 1_000;

/**
 * Where a project lies while it is built, in a server, and in the sandbox of the check of imports. What is read was
 * written by strangers: each pattern here begins where a path begins, so that no line takes more than its length.
 */
const ownFolders =
  /(?<![^\s'"():,])(?:file:\/\/)?(?:\/[^\s'"():,]*\/(?:builds\/[0-9a-f-]{36}\/source|artifacts\/[^/\s]+)|\/srv\/project)\//g;

/** Lines that say nothing about the project. */
const noise =
  /^npm (?:error|ERR!) A complete log of this run|^npm (?:notice|warn)\b|^\[notice\]|^Serving\b|^\{"stopped":|\bmigrations? applied\b|^the database was brought up to date\b|^Node\.js v\d/;

const sourceFile = String.raw`(?<![\w@.+/-])([\w@.+/-]+\.(?:[mc]?[jt]sx?|py|json|toml|txt))`;

/** How tools name a place, the surest first. */
const places: readonly RegExp[] = [
  // tsc
  new RegExp(String.raw`${sourceFile}\((\d+),(\d+)\): error`),
  // Python, in a traceback
  new RegExp(String.raw`File "${sourceFile}", line (\d+)`),
  // esbuild, eslint, ruff, mypy, and stacks of Node
  new RegExp(String.raw`${sourceFile}:(\d+)(?::(\d+))?`),
  // as a server and the check of imports name it
  new RegExp(String.raw`\(${sourceFile}, line (\d+)\)`),
  new RegExp(String.raw`imported from ${sourceFile}(?::(\d+))?`),
  new RegExp(`${sourceFile} has no attribute`),
  new RegExp(String.raw`Graph "[^"]*" \(${sourceFile}, export`),
];

/** Of packages, not of the project. */
const isForeign = (file: string) =>
  /(^|\/)(node_modules|site-packages|\.venv|dist-packages)\//.test(file) || file.startsWith("lib/python");

/** What is wrong, the surest sign first; the first line with it counts. */
const reasons: readonly RegExp[] = [
  /: error TS\d+: .+/,
  /\bERROR: (?!Command failed)(?!Could not find a version).+/,
  /^npm (?:error|ERR!) \d{3} (?=\S).+/,
  /^npm (?:error|ERR!) (?!code\b|errno\b|syscall\b|path\b|command\b|\d{3}\b).+/,
  /\b(?:[A-Z]\w*)?(?:Error|Exception)\b(?: \[\w+\])?: .+/,
  /\bNotUsable: .+/,
  /^(?:error|ERROR|Error)\b:? .+/,
  /× .+/,
  /cannot be used: .+/,
];

/** The lines of a tool that failed, as they are shown first. `told` is the platform's own sentence, for a tool that said nothing. */
export function explainFailure(output: readonly string[], told: string): Failure {
  const own = trimmed(
    lastLines(output)
      .map((line) => line.slice(0, mostLength).replace(ownFolders, ""))
      .filter((line) => !noise.test(line)),
  );
  const place = findPlace(own);
  const at = reasons.reduce(
    (found, pattern) => (found >= 0 ? found : own.findIndex((line) => pattern.test(line))),
    -1,
  );
  const first = at >= 0 ? own[at]! : (own.at(-1) ?? told.split("\n")[0] ?? "");
  const from = own.length <= mostLines ? 0 : Math.max(0, (at >= 0 ? at : own.length) - linesBefore);
  const start = Math.min(from, Math.max(0, own.length - mostLines));
  return {
    ...(place ?? { file: null, line: null, column: null }),
    reason: reasonIn(first),
    output: own.slice(start, start + mostLines),
  };
}

/** Found from the end: a stranger may have printed nothing but line breaks. */
function lastLines(output: readonly string[]): string[] {
  const found: string[] = [];
  for (const text of output.toReversed()) {
    for (let end = text.length; end >= 0 && found.length < readLines; ) {
      const at = end === 0 ? -1 : text.lastIndexOf("\n", end - 1);
      found.push(text.slice(at + 1, end));
      end = at;
    }
  }
  return found.toReversed();
}

/** Its end says where a traceback of Python leads to; elsewhere the first place is the one. */
function findPlace(lines: readonly string[]): Pick<Failure, "file" | "line" | "column"> | null {
  const isTraceback = lines.some((line) => line.startsWith("Traceback (most recent call last)"));
  for (const pattern of places) {
    const found = (isTraceback ? lines.toReversed() : lines)
      .map((line) => pattern.exec(line))
      .find((match) => match !== null && !isForeign(match[1]!));
    if (found) {
      const [, file, line, column] = found;
      return {
        file: file!.replace(/^\.\//, ""),
        line: line ? Number(line) : null,
        column: column ? Number(column) : null,
      };
    }
  }
  return null;
}

/** Without the text about the place next to it. */
function reasonIn(line: string): string {
  const found = reasons.map((pattern) => pattern.exec(line)?.[0]).find((match) => match !== undefined);
  return (found ?? line)
    .replace(/^(?:: error|cannot be used:|npm (?:error|ERR!)|NotUsable:|×) /, "")
    .replace(/^(?:error|ERROR|Error): /, "")
    .replace(/ \([^()\s]+, line \d+\)(?=\.?$)/, "")
    .trim();
}

function trimmed(lines: readonly string[]): string[] {
  const isBlank = (line: string) => line.trim() === "";
  const first = lines.findIndex((line) => !isBlank(line));
  const last = lines.findLastIndex((line) => !isBlank(line));
  return first < 0 ? [] : lines.slice(first, last + 1);
}
