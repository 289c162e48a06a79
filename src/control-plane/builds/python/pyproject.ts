import { parse } from "smol-toml";

/** What a pyproject.toml tells about installing it. */
export type Pyproject = {
  /** Whether it can be built into a package; without that only what it depends on is installed. */
  isPackage: boolean;
  /** Whether `[project]` names dependencies in the common form. */
  hasProject: boolean;
  usesPoetry: boolean;
  /** It leads a workspace of uv, whose members share its lock file. */
  leadsWorkspace: boolean;
  requiresPython: string | null;
};

type Table = Record<string, unknown>;

/** Throws with line and column for what is no TOML. */
export function readPyproject(text: string): Pyproject {
  const file = parse(text) as Table;
  const project = tableIn(file, "project");
  const tool = tableIn(file, "tool");
  const uv = tableIn(tool, "uv");
  const poetry = tableIn(tool, "poetry");
  const builder = tableIn(file, "build-system");
  const poetryPython = tableIn(poetry, "dependencies")?.python;
  const requires = project?.["requires-python"] ?? poetryPython;
  return {
    isPackage:
      uv?.package !== false &&
      poetry?.["package-mode"] !== false &&
      (builder !== undefined || uv?.package === true),
    hasProject: project !== undefined,
    usesPoetry: poetry !== undefined || String(builder?.["build-backend"] ?? "").startsWith("poetry"),
    leadsWorkspace: tableIn(uv, "workspace") !== undefined,
    requiresPython: typeof requires === "string" ? requires : null,
  };
}

function tableIn(table: Table | undefined, name: string): Table | undefined {
  const value = table?.[name];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Table) : undefined;
}
