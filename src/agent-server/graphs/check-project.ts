import { AppError } from "../../platform/errors.ts";
import { type ModuleReference, type ProjectConfig, parseProjectConfig } from "./project-config.ts";
import { languageOf, pythonEmbedding } from "./project-language.ts";
import { refusedKeys } from "./refused-keys.ts";

/** Something of a project that its server imports from Python. */
export type PythonImport = {
  /** `graph agent`, `auth`, … */
  what: string;
  /** A file from the folder of the project file, or the name of a module. */
  place: { file: string } | { module: string };
  exportName: string;
  graphId?: string;
};

export type PythonNeeds = {
  pythonVersion: string | null;
  installer: "auto" | "pip" | "uv";
  pipConfigFile: string | null;
  dependencies: string[];
  imports: PythonImport[];
};

export type ProjectCheck = {
  /** What is wrong with the file; empty when nothing is. */
  problems: string[];
  /** Files it names, from its own folder. */
  files: string[];
  usesOwnAuth: boolean;
  nodeVersion: string | null;
  /** Null where no part of the project is Python. */
  python: PythonNeeds | null;
  /** What the file asks for and does not get here. */
  warnings: string[];
};

const namesFile = /^\.{0,2}\/|\.([cm]?[jt]sx?|py)$/;

/** Checks a project file as far as possible before anything is installed. */
export function checkProject(text: string, path: string): ProjectCheck {
  try {
    const config = parseProjectConfig(text, path);
    const parts = [...config.graphs, config.auth, config.httpApp].filter((part) => part !== undefined);
    const components = [...config.ui.values()].map((file) => `./${file}`);
    return {
      problems: refusedKeys(config).map(
        ({ key, instead }) => `${key} is not supported: ${instead}. Remove it to deploy anyway`,
      ),
      files: [...parts.map(({ file }) => file), ...components].filter((file) => namesFile.test(file)),
      usesOwnAuth: config.auth !== undefined,
      nodeVersion: config.file.node_version ? String(config.file.node_version) : null,
      python: pythonNeeds(config),
      warnings: ignoredKeys(config),
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const problems = error.detail?.problems;
    const list = Array.isArray(problems) ? problems.map(String) : [error.message];
    return { problems: list, files: [], usesOwnAuth: false, nodeVersion: null, python: null, warnings: [] };
  }
}

function ignoredKeys({ file }: ProjectConfig): string[] {
  const ignored = [
    ...(file.dockerfile_lines?.length ? ["dockerfile_lines"] : []),
    ...(file.base_image ? ["base_image"] : []),
  ];
  return ignored.map(
    (key) =>
      `${key} has no effect here, where no image is built: what it installs has to be on the machine, or deploy an image of your own (image_uri)`,
  );
}

function pythonNeeds(config: ProjectConfig): PythonNeeds | null {
  const { file, graphs, auth, httpApp } = config;
  const embed = file.store?.index?.embed ? pythonEmbedding(file.store.index.embed) : undefined;
  const imports: PythonImport[] = [
    ...graphs.filter(isPython).map((graph) => ({
      ...importOf(`graph ${graph.graphId}`, graph),
      graphId: graph.graphId,
    })),
    ...(auth && isPython(auth) ? [importOf("auth", auth)] : []),
    ...(httpApp && isPython(httpApp) ? [importOf("http.app", httpApp)] : []),
    ...(embed ? [importOf("store.index.embed", embed)] : []),
  ];
  if (imports.length === 0) return null;
  return {
    pythonVersion: file.python_version ?? null,
    installer: file.pip_installer ?? "auto",
    pipConfigFile: file.pip_config_file ?? null,
    dependencies: file.dependencies ?? [],
    imports,
  };
}

function isPython(reference: ModuleReference): boolean {
  return languageOf(reference) === "python";
}

function importOf(what: string, { file, exportName }: ModuleReference): PythonImport {
  return { what, place: file.endsWith(".py") ? { file } : { module: file }, exportName };
}
