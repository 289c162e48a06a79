import { describe, expect, it } from "vitest";
import {
  type DependencyFolder,
  type Installer,
  type PythonPlan,
  planPythonInstall,
} from "./plan-python-install.ts";
import { readPoetryLock } from "./poetry-lock.ts";
import { readPyproject } from "./pyproject.ts";

const buildable = `[project]\nname = "agent"\n[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n`;
const poetry = `[tool.poetry]\nname = "agent"\n[build-system]\nrequires = ["poetry-core"]\nbuild-backend = "poetry.core.masonry.api"\n`;
const lock = `[[package]]
name = "httpx"
version = "0.28.1"
optional = false
groups = ["main"]

[[package]]
name = "pytest"
version = "8.3.0"
optional = false
groups = ["dev"]

[[package]]
name = "numpy"
version = "1.26.4"
groups = ["main"]
markers = "python_version < \\"3.12\\""

[[package]]
name = "numpy"
version = "2.1.0"
groups = ["main"]
markers = "python_version >= \\"3.12\\""

[[package]]
name = "own"
version = "1.0"
groups = ["main"]
[package.source]
type = "git"
url = "https://example.com/own.git"
reference = "main"
resolved_reference = "abc123"
`;

type Given = { files?: string[]; pyproject?: string; poetryLock?: string; hasUvLock?: boolean };

function folder(
  entry: string,
  { files = [], pyproject, poetryLock, hasUvLock = false }: Given,
): DependencyFolder {
  const more = [...(pyproject ? ["pyproject.toml"] : []), ...(poetryLock ? ["poetry.lock"] : [])];
  return {
    entry,
    folder: entry.replace(/^\.\/(?=.)/, ""),
    files: new Set([...files, ...more]),
    pyproject: pyproject ? readPyproject(pyproject) : null,
    poetryLock: poetryLock ? readPoetryLock(poetryLock) : null,
    hasUvLock,
  };
}

function plan(folders: DependencyFolder[], packages: string[] = [], installer: Installer = "uv"): PythonPlan {
  const made = planPythonInstall({ folders, packages }, { installer, scratch: "/scratch" });
  if ("problem" in made) throw new Error(made.problem);
  return made;
}
const commands = ({ steps }: PythonPlan) => steps.map((step) => `${step.folder}: ${step.args.join(" ")}`);
const server = "langgraph>=0.6";

describe("installing a Python project", () => {
  it("follows uv.lock", () => {
    const made = plan([folder(".", { pyproject: buildable, hasUvLock: true })]);
    expect(commands(made)).toEqual([".: sync --frozen --no-dev --no-editable", `.: pip install ${server}`]);
    expect(made).toMatchObject({ because: "uv.lock", paths: [] });
  });

  it("puts a locked project that is no package on the path", () => {
    const made = plan([
      folder(".", { pyproject: '[project]\nname = "app"\n', hasUvLock: true, files: ["src"] }),
    ]);
    expect(made.paths).toEqual([".", "src"]);
  });

  it("adds a second lock to the first, and everything else in one step", () => {
    const made = plan(
      [
        folder(".", { pyproject: buildable, hasUvLock: true }),
        folder("./libs/a", { pyproject: buildable, hasUvLock: true }),
        folder("./libs/b", { pyproject: buildable }),
        folder("./libs/c", { files: ["requirements.txt"] }),
      ],
      ["langchain-openai>=0.3"],
    );
    expect(commands(made)).toEqual([
      ".: sync --frozen --no-dev --no-editable",
      "libs/a: sync --frozen --no-dev --no-editable --inexact",
      `.: pip install ./libs/b -r ./libs/c/requirements.txt langchain-openai>=0.3 ${server}`,
    ]);
    expect(made.paths).toEqual(["libs/c"]);
  });

  it("installs a package by its metadata, and leaves requirements.txt beside it alone", () => {
    const made = plan([folder(".", { pyproject: buildable, files: ["requirements.txt"] })]);
    expect(commands(made)).toEqual([`.: pip install . ${server}`]);
    expect(made.notes).toEqual(["requirements.txt of . is not used, because there is a pyproject.toml."]);
    expect(commands(plan([folder(".", { files: ["setup.py"] })]))).toEqual([`.: pip install . ${server}`]);
  });

  it("installs what a project without a build system depends on, and puts it on the path", () => {
    const made = plan([folder(".", { pyproject: '[project]\nname = "app"\ndependencies = ["httpx"]\n' })]);
    expect(commands(made)).toEqual([`.: pip install -r pyproject.toml ${server}`]);
    expect(made.paths).toEqual(["."]);
  });

  it("takes requirements.txt in its own folder, and the folder as a path", () => {
    const made = plan([folder("./agent", { files: ["requirements.txt", "__init__.py"] })]);
    expect(commands(made)).toEqual([`agent: pip install -r requirements.txt ${server}`]);
    // A package is imported by its name, from above.
    expect(made.paths).toEqual(["."]);
  });

  it("takes a folder without any metadata as a path", () => {
    const made = plan([folder(".", {})]);
    expect(made).toMatchObject({ because: ". on the path", paths: ["."] });
    expect(commands(made)).toEqual([`.: pip install ${server}`]);
  });

  it("says aloud that pip cannot follow uv.lock", () => {
    const made = plan([folder(".", { pyproject: buildable, hasUvLock: true })], [], "pip");
    expect(commands(made)).toEqual([`.: pip install . ${server}`]);
    expect(made.notes).toEqual([
      "uv.lock of . is not used: pip cannot read it, and versions come from pyproject.toml.",
    ]);
  });
});

describe("a Poetry project", () => {
  it("is held to the versions of its lock file", () => {
    const made = plan([folder(".", { pyproject: poetry, poetryLock: lock })]);
    expect(commands(made)).toEqual([`.: pip install . -c /scratch/poetry-0.txt ${server}`]);
    expect(made.files).toEqual([
      {
        name: "poetry-0.txt",
        text: [
          "httpx==0.28.1",
          "pytest==8.3.0",
          'numpy==1.26.4 ; python_version < "3.12"',
          'numpy==2.1.0 ; python_version >= "3.12"',
          "own @ git+https://example.com/own.git@abc123",
          "",
        ].join("\n"),
      },
    ]);
  });

  it("that is no package is installed from its lock file, without its tools", () => {
    const inert = `${poetry}`.replace('name = "agent"', "package-mode = false");
    const made = plan([folder(".", { pyproject: inert, poetryLock: lock })]);
    expect(commands(made)).toEqual([`.: pip install -r /scratch/poetry-0.txt ${server}`]);
    expect(made.files[0]!.text).not.toContain("pytest");
    expect(made.paths).toEqual(["."]);
    expect(() => plan([folder(".", { pyproject: inert })])).toThrow(
      "there is no poetry.lock to install from",
    );
  });

  it("without a lock file is installed by its metadata", () => {
    const made = plan([folder(".", { pyproject: poetry })]);
    expect(commands(made)).toEqual([`.: pip install . ${server}`]);
    expect(made.notes).toEqual(["There is no poetry.lock in .: versions come from pyproject.toml."]);
  });

  it("names packages that are locked in several versions without a condition", () => {
    const twice = `[[package]]\nname = "a"\nversion = "1"\n[[package]]\nname = "a"\nversion = "2"\n`;
    const made = plan([folder(".", { pyproject: poetry, poetryLock: twice })]);
    expect(made.notes).toEqual([
      "poetry.lock of . has several versions of a: for these, the packages that require them decide.",
    ]);
  });
});
