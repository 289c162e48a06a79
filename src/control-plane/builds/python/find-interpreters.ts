import { execFile } from "node:child_process";
import { readdir, realpath, stat } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { errorMessage } from "../../../platform/errors.ts";
import { findClosedFolder } from "../../sandbox/system-user.ts";
import type { FoundInterpreters, Interpreter, UnusableInterpreter } from "./interpreter.ts";
import { compareVersions } from "./python-version.ts";

export type InterpretersOptions = {
  /** What a Python is asked with; its PATH is searched. */
  environment: Record<string, string>;
  /** TREADLE_PYTHONS: programs, or folders that a Python was installed into. */
  named: readonly string[];
  /** Where fetched ones are, a folder each. */
  fetched: string;
};

type Candidate = { path: string; from: string };
type Answer = Omit<Interpreter, "from"> | { reason: string };

const probeMs = 20_000;
const fetchedOnes = "fetched by uv";
const programName = /^python3(\.\d+)?$/;

/** For a shim, the program it runs; for an environment, the interpreter it was made from. */
const probe = `
import json, os, sys
executable = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
print(json.dumps({"executable": executable, "prefix": sys.base_prefix, "version": list(sys.version_info[:3])}))
`;

/** The Pythons of this machine. Each program is asked once, and again when it has changed. */
export class Interpreters {
  readonly #options: InterpretersOptions;
  readonly #answers = new Map<string, { stamp: string; answer: Promise<Answer> }>();

  constructor(options: InterpretersOptions) {
    this.#options = options;
  }

  /** In the order of preference: PATH, what the operator named, what was fetched. */
  async find({ forOthers }: { forOthers: boolean }): Promise<FoundInterpreters> {
    const usable = new Map<string, Interpreter>();
    const unusable = new Map<string, UnusableInterpreter>();
    for (const { path, from } of await this.#candidates()) {
      const answer = await this.#ask(path);
      const found = "reason" in answer ? answer : ((await closedTo(answer, forOthers)) ?? answer);
      if ("reason" in found) unusable.set(path, { path, reason: found.reason });
      else if (!usable.has(found.executable)) usable.set(found.executable, { ...found, from });
    }
    return { usable: [...usable.values()], unusable: [...unusable.values()] };
  }

  /**
   * What the key of an artifact records of them: with others to choose from a build may come out differently. Nothing is
   * started for it, and fetched ones do not count, which a build brings about itself.
   */
  async describe(): Promise<string[]> {
    const known = (await this.#candidates()).filter(({ from }) => from !== fetchedOnes);
    return Promise.all(known.map(async ({ path }) => `${path} ${await realpath(path).catch(() => "")}`));
  }

  async #candidates(): Promise<Candidate[]> {
    const { environment, named, fetched } = this.#options;
    const onPath = (environment.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
    const lists = [
      ...onPath.map((folder) => programsIn(folder, "PATH")),
      ...named.map((path) => programsAt(path, "TREADLE_PYTHONS")),
      ...(await foldersIn(fetched)).map((folder) => programsIn(join(fetched, folder, "bin"), fetchedOnes)),
    ];
    return (await Promise.all(lists)).flat();
  }

  async #ask(path: string): Promise<Answer> {
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => error);
    if (found instanceof Error) return { reason: found.code === "ENOENT" ? "not there" : found.message };
    const stamp = `${found.mtimeMs} ${found.size} ${found.ino}`;
    const known = this.#answers.get(path);
    if (known?.stamp === stamp) return known.answer;
    const answer = askPython(path, this.#options.environment);
    this.#answers.set(path, { stamp, answer });
    return answer;
  }
}

async function programsAt(path: string, from: string): Promise<Candidate[]> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) return [{ path, from }];
  const inside = [...(await programsIn(join(path, "bin"), from)), ...(await programsIn(path, from))];
  return inside.length === 0 ? [{ path: join(path, "bin", "python3"), from }] : inside;
}

/** `python3` first: it is what the machine's owner chose. */
async function programsIn(folder: string, from: string): Promise<Candidate[]> {
  const names = (await namesIn(folder)).filter((name) => programName.test(name));
  const order = (name: string) =>
    name === "python3" ? Number.POSITIVE_INFINITY : Number(name.split(".")[1]);
  return names
    .sort((one, other) => order(other) - order(one))
    .map((name) => ({ path: join(folder, name), from }));
}

async function foldersIn(folder: string): Promise<string[]> {
  return (await namesIn(folder))
    .filter((name) => !name.startsWith("."))
    .sort()
    .reverse();
}

/** PATH names folders that are not there. */
async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "EACCES") return [];
    throw error;
  });
}

/** Without a sandbox, into which it is brought, the users of builds and servers have to get there by themselves. */
async function closedTo(
  { executable }: { executable: string },
  forOthers: boolean,
): Promise<{ reason: string } | null> {
  const closed = forOthers ? await findClosedFolder(executable) : null;
  return closed === null ? null : { reason: `users of deployments cannot access ${closed}` };
}

function askPython(path: string, environment: Record<string, string>): Promise<Answer> {
  return new Promise((resolve) => {
    const options = { env: environment, timeout: probeMs, encoding: "utf8" as const, cwd: "/" };
    execFile(path, ["-I", "-c", probe], options, (error, stdout, stderr) => {
      const complaint = stderr.trim().split("\n")[0];
      if (error) return resolve({ reason: complaint || errorMessage(error).split("\n")[0]! });
      void readAnswer(stdout).then(resolve);
    });
  });
}

async function readAnswer(text: string): Promise<Answer> {
  try {
    const { executable, prefix, version } = JSON.parse(text) as Omit<Interpreter, "from">;
    if (compareVersions(version, [3, 0, 0]) < 0) return { reason: `Python ${version.join(".")} is too old` };
    return { executable: await realpath(executable), prefix: await realpath(prefix), version };
  } catch {
    return { reason: "is not a working Python: it did not print its version" };
  }
}
