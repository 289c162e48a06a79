import { describe, expect, it } from "vitest";
import {
  chooseInterpreter,
  fetchablePython,
  type Interpreter,
  noInterpreter,
  wantedPython,
} from "./interpreter.ts";
import { isInRange, parsePythonVersion } from "./python-version.ts";

const interpreter = (text: string, from = "PATH"): Interpreter => ({
  executable: `/opt/python-${text}/bin/python3`,
  prefix: `/opt/python-${text}`,
  version: parsePythonVersion(text)!,
  from,
});
const nothing = { pythonVersion: null, versionFile: null, requires: null };
const asked = (more: Partial<typeof nothing> | { pythonVersion: string }) => {
  const wanted = wantedPython({ ...nothing, ...more });
  if ("problem" in wanted) throw new Error(wanted.problem);
  return wanted;
};

describe("ranges of versions", () => {
  it.each([
    ["3.11.7", ">=3.10", true],
    ["3.11.7", ">=3.10,<3.11", false],
    ["3.11.7", ">= 3.10, < 4", true],
    ["3.11.7", "~=3.11", true],
    ["3.12.0", "~=3.11", true],
    ["3.12.0", "~=3.11.2", false],
    ["3.11.7", "==3.11.*", true],
    ["3.12.1", "==3.11.*", false],
    ["3.11.7", "!=3.11.*", false],
    ["3.11.7", "^3.10", true],
    ["3.9.18", "^3.10", false],
    ["3.11.7", ">3.11", true],
    ["3.11.7", "<=3.11", false],
    ["3.11.7", "whatever", true],
  ])("%s in %s: %s", (version, range, expected) => {
    expect(isInRange(parsePythonVersion(version)!, range)).toBe(expected);
  });
});

describe("the Python a project asks for", () => {
  it("is python_version, then .python-version, then requires-python", () => {
    const all = { pythonVersion: "3.12", versionFile: "3.11\n", requires: ">=3.10" };
    expect(asked(all)).toMatchObject({ kind: "version", text: "3.12", source: "python_version" });
    expect(asked({ ...all, pythonVersion: null } as never)).toMatchObject({
      text: "3.11",
      source: ".python-version",
    });
    expect(asked({ requires: ">=3.10", versionFile: "# nothing\n" } as never)).toMatchObject({
      kind: "range",
      range: ">=3.10",
    });
    expect(asked({})).toEqual({ kind: "any" });
  });

  it("must be a version", () => {
    expect(wantedPython({ ...nothing, pythonVersion: "three" })).toEqual({
      problem: 'python_version must be a version such as "3.12", not "three"',
    });
  });
});

describe("choosing a Python", () => {
  const all = [interpreter("3.9.18"), interpreter("3.11.7"), interpreter("3.12.1", "TREADLE_PYTHONS")];

  it("takes the first that fits, whatever its patch version", () => {
    expect(chooseInterpreter(all, asked({ pythonVersion: "3.12" }))).toBe(all[2]);
    expect(chooseInterpreter(all, asked({ pythonVersion: "3.12.9" }))).toBe(all[2]);
    expect(chooseInterpreter(all, asked({}))).toBe(all[1]);
    expect(chooseInterpreter(all, { kind: "range", range: ">=3.12", source: "x" })).toBe(all[2]);
  });

  it("takes none that is too old or of another minor version", () => {
    expect(chooseInterpreter(all, asked({ pythonVersion: "3.9" }))).toBeNull();
    expect(chooseInterpreter(all, asked({ pythonVersion: "3.13" }))).toBeNull();
  });

  it("lists what was found when none fits", () => {
    const found = {
      usable: all.slice(1),
      unusable: [{ path: "/shims/python3.10", reason: "exit code 127" }],
    };
    const text = noInterpreter(asked({ pythonVersion: "3.13" }), found, "no network");
    expect(text.split("\n")).toEqual([
      "python_version requires Python 3.13, and no Python on this machine fits.",
      "Found:",
      "  3.11.7 at /opt/python-3.11.7/bin/python3 (PATH)",
      "  3.12.1 at /opt/python-3.12.1/bin/python3 (TREADLE_PYTHONS)",
      "  /shims/python3.10: exit code 127",
      "It could not be downloaded either: no network",
      "Install that version and its venv module, set TREADLE_PYTHONS, or change python_version.",
    ]);
    expect(noInterpreter(asked({}), { usable: [], unusable: [] }, null)).toContain(
      "This project needs Python 3.10 or newer, and this machine has no Python.",
    );
  });

  it("knows what to fetch", () => {
    expect(fetchablePython(asked({}))).toBe("3.12");
    expect(fetchablePython(asked({ pythonVersion: "3.13.1" }))).toBe("3.13");
    expect(fetchablePython({ kind: "range", range: ">=3.13", source: "x" })).toBe("3.13");
    expect(fetchablePython({ kind: "range", range: "<3.10", source: "x" })).toBeNull();
  });
});
