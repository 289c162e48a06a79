import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../platform/errors.ts";

export type Interpreter = { path: string; version: string };

export type InterpreterSearch = {
  /** The project's folder. */
  directory: string;
  environment: Readonly<Record<string, string | undefined>>;
};

type Candidate = { path: string; from: string };
type Probe = { version: [number, number, number]; langgraph: string | null };

const oldestPython = [3, 10] as const;
const oldestLibrary = [0, 6] as const;
const probeMs = 20_000;

/** Asks for versions without importing anything, which would take seconds. */
const probe = `
import json, sys
found = None
try:
    from importlib import metadata
    found = metadata.version("langgraph")
except Exception:
    pass
print(json.dumps({"version": list(sys.version_info[:3]), "langgraph": found}))
`;

/** The first Python that can run the project. The error says what was tried, and what to do. */
export async function findInterpreter(search: InterpreterSearch): Promise<Interpreter> {
  const candidates = candidatesOf(search);
  const tried: string[] = [];
  for (const { path, from } of candidates) {
    const outcome = await tryInterpreter(path, search.environment);
    if (typeof outcome !== "string") return outcome;
    tried.push(`${path} (${from}): ${outcome}`);
  }
  throw new AppError({
    code: "graph.python_missing",
    kind: "invalid",
    message: [
      `No Python was found that can run the graphs of ${search.directory}. You need Python ${oldestPython.join(".")} or later with the package langgraph ${oldestLibrary.join(".")} or later. Tried:`,
      ...tried.map((line) => `  ${line}`),
      "Create an environment in the project (python3 -m venv .venv, then .venv/bin/pip install -r requirements.txt or -e .), or set TREADLE_PYTHON to the python of one.",
    ].join("\n"),
    detail: { tried },
  });
}

/** One that the operator named is not replaced by another. */
function candidatesOf({ directory, environment }: InterpreterSearch): Candidate[] {
  const { TREADLE_PYTHON: named, VIRTUAL_ENV: active } = environment;
  if (named) return [{ path: named, from: "TREADLE_PYTHON" }];
  return [
    ...(active ? [{ path: join(active, "bin", "python"), from: "VIRTUAL_ENV" }] : []),
    { path: join(directory, ".venv", "bin", "python"), from: "the project's .venv" },
    // Found in PATH when it is started.
    { path: "python3", from: "PATH" },
    { path: "python", from: "PATH" },
  ];
}

/** The interpreter, or why it is none. */
async function tryInterpreter(
  path: string,
  environment: InterpreterSearch["environment"],
): Promise<Interpreter | string> {
  if (path.includes("/") && !(await isExecutable(path))) return "not there";
  const answer = await ask(path, environment);
  if (typeof answer === "string") return answer;
  const version = answer.version.join(".");
  if (isOlder(answer.version, oldestPython)) return `Python ${version} is too old`;
  if (answer.langgraph === null) return `Python ${version} without the package langgraph`;
  if (isOlder(answer.langgraph.split(".").map(Number), oldestLibrary))
    return `its langgraph ${answer.langgraph} is too old`;
  return { path, version };
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function ask(path: string, environment: InterpreterSearch["environment"]): Promise<Probe | string> {
  return new Promise((resolve) => {
    execFile(
      path,
      ["-c", probe],
      { env: environment, timeout: probeMs, encoding: "utf8" },
      (error, stdout, stderr) => {
        if (error && (error as NodeJS.ErrnoException).code === "ENOENT") return resolve("not there");
        if (error) return resolve(`failed: ${lastLine(stderr) ?? error.message.split("\n")[0]}`);
        resolve(parseProbe(lastLine(stdout)) ?? "is not a working Python: it did not print its version");
      },
    );
  });
}

function lastLine(text: string): string | undefined {
  return text.trim().split("\n").at(-1) || undefined;
}

function parseProbe(line: string | undefined): Probe | undefined {
  try {
    const { version, langgraph } = JSON.parse(line ?? "") as Partial<Probe>;
    if (!Array.isArray(version)) return undefined;
    return { version, langgraph: typeof langgraph === "string" ? langgraph : null };
  } catch {
    return undefined;
  }
}

function isOlder(version: readonly number[], oldest: readonly number[]): boolean {
  for (const [index, part] of oldest.entries()) {
    const own = version[index] ?? 0;
    if (own !== part) return own < part;
  }
  return false;
}
