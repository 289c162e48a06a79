import type { Mount } from "../../sandbox/bubblewrap.ts";
import {
  compareVersions,
  isInRange,
  minorOf,
  oldestPython,
  type PythonVersion,
  parsePythonVersion,
} from "./python-version.ts";

/** A Python of this machine. */
export type Interpreter = {
  /** The program itself: no link, no shim, no virtual environment. */
  executable: string;
  version: PythonVersion;
  /** The folder it was installed into, with its library. */
  prefix: string;
  /** Where it was found. */
  from: string;
};

/** Found, and of no use. */
export type UnusableInterpreter = { path: string; reason: string };

export type FoundInterpreters = { usable: Interpreter[]; unusable: UnusableInterpreter[] };

/** What a project asks for; `source` is the file or key that does. */
export type WantedPython =
  | { kind: "version"; text: string; version: PythonVersion; source: string }
  | { kind: "range"; range: string; source: string }
  | { kind: "any" };

/** The key of the project file decides, then the file that uv and pyenv read, then the package's own range. */
export function wantedPython(asked: {
  pythonVersion: string | null;
  versionFile: string | null;
  requires: string | null;
}): WantedPython | { problem: string } {
  const { pythonVersion, versionFile, requires } = asked;
  if (pythonVersion !== null) {
    const version = parsePythonVersion(pythonVersion);
    if (!version)
      return { problem: `python_version must be a version such as "3.12", not "${pythonVersion}"` };
    return { kind: "version", text: pythonVersion, version, source: "python_version" };
  }
  const line = versionFile
    ?.split("\n")
    .map((each) => each.trim())
    .find((each) => each !== "" && !each.startsWith("#"));
  const version = line === undefined ? null : parsePythonVersion(line);
  if (version) return { kind: "version", text: line!, version, source: ".python-version" };
  if (requires !== null) return { kind: "range", range: requires, source: "requires-python" };
  return { kind: "any" };
}

/** The first that fits, in the order they were found. A patch version asked for is not insisted on. */
export function chooseInterpreter(
  interpreters: readonly Interpreter[],
  wanted: WantedPython,
): Interpreter | null {
  const able = interpreters.filter(({ version }) => compareVersions(version, oldestPython) >= 0);
  if (wanted.kind === "any") return able[0] ?? null;
  if (wanted.kind === "range") return able.find(({ version }) => isInRange(version, wanted.range)) ?? null;
  return able.find(({ version }) => minorOf(version) === minorOf(wanted.version)) ?? null;
}

/** What uv is asked to fetch; null where it has to be found on this machine. */
export function fetchablePython(wanted: WantedPython): string | null {
  if (wanted.kind === "any") return minorOf(defaultPython);
  if (wanted.kind === "version") return minorOf(wanted.version);
  const known = [defaultPython, ...knownMinors].find((version) => isInRange(version, wanted.range));
  return known ? minorOf(known) : null;
}

/** What is fetched for a project that leaves it open. */
const defaultPython: PythonVersion = [3, 12, 0];
const knownMinors: PythonVersion[] = [13, 11, 14, 10].map((minor) => [3, minor, 99] as const);

/** Words for a project that no Python fits. */
export function noInterpreter(
  wanted: WantedPython,
  found: FoundInterpreters,
  fetching: string | null,
): string {
  const oldest = minorOf(oldestPython);
  const asks =
    wanted.kind === "version"
      ? `${wanted.source} requires Python ${wanted.text}`
      : wanted.kind === "range"
        ? `${wanted.source} requires Python ${wanted.range}`
        : `This project needs Python ${oldest} or newer`;
  const list = [
    ...found.usable.map(({ version, executable, from }) => `${version.join(".")} at ${executable} (${from})`),
    ...found.unusable.map(({ path, reason }) => `${path}: ${reason}`),
  ];
  const has = list.length === 0 ? "and this machine has no Python" : "and no Python on this machine fits";
  return [
    `${asks}, ${has}.${wanted.kind === "version" && compareVersions(wanted.version, oldestPython) < 0 ? ` The oldest that is served is ${oldest}.` : ""}`,
    ...(list.length === 0 ? [] : ["Found:", ...list.map((line) => `  ${line}`)]),
    ...(fetching === null ? [] : [`It could not be downloaded either: ${fetching}`]),
    "Install that version and its venv module, set TREADLE_PYTHONS, or change python_version.",
  ].join("\n");
}

/** One installed outside of the machine's own folders has to be brought behind walls. */
export function interpreterMounts({ prefix }: Interpreter): Mount[] {
  return isOfMachine(prefix) ? [] : [{ from: prefix }];
}

export function isOfMachine(path: string): boolean {
  return /^\/(usr|bin|sbin|lib|lib64)(\/|$)/.test(path);
}
