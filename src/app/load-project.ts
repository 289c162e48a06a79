import { loadJavascriptPart } from "../agent-server/graphs/javascript/graph-loader.ts";
import type { LoadedProject, ProjectPart } from "../agent-server/graphs/loaded-project.ts";
import type { ProjectConfig } from "../agent-server/graphs/project-config.ts";
import { graphError } from "../agent-server/graphs/project-faults.ts";
import {
  languageOf,
  type ProjectLanguage,
  pythonEmbedding,
} from "../agent-server/graphs/project-language.ts";
import {
  loadPythonPart,
  type PythonProjectOptions,
  type PythonSettings,
} from "../agent-server/graphs/python/python-project.ts";
import { type ReadProjectOptions, readProject } from "../agent-server/graphs/read-project.ts";
import { currentEnvironment } from "../config/index.ts";
import { Closers } from "../platform/closers.ts";
import { AppError } from "../platform/errors.ts";

export type LoadProjectOptions = ReadProjectOptions &
  Pick<PythonProjectOptions, "logger" | "server" | "onStarting"> & { python: PythonSettings };

/** Loads what a project has, by each of its languages. */
export async function loadProject(options: LoadProjectOptions): Promise<LoadedProject> {
  const { config, warnings } = await readProject(options);
  const languages = languagesOf(config);
  const loaders: Record<ProjectLanguage, () => Promise<ProjectPart>> = {
    javascript: () => loadJavascriptPart(config),
    python: () => loadPython(config, options, languages),
  };
  const closers = new Closers();
  const parts: [ProjectLanguage, ProjectPart][] = [];
  try {
    for (const language of inLoadingOrder(languages)) {
      const part = await loaders[language]();
      closers.push(() => part.close());
      parts.push([language, part]);
    }
  } catch (error) {
    await closers.run();
    throw error;
  }
  const all = parts.map(([, part]) => part);
  return {
    config,
    warnings: [...warnings, ...all.flatMap((part) => part.warnings ?? [])],
    graphs: inFileOrder(config, new Map(all.flatMap(({ graphs }) => [...graphs]))),
    broken: new Map(all.flatMap(({ broken }) => [...broken])),
    auth: all.find(({ auth }) => auth)?.auth,
    httpApp: all.find(({ httpApp }) => httpApp)?.httpApp,
    embed: all.find(({ embed }) => embed)?.embed,
    libraryVersions: Object.fromEntries(parts.map(([language, part]) => [language, part.libraryVersion])),
    close: () => closers.run(),
  };
}

/** Without a Python the graphs of the other language are served; where there is none, or Python guards them, nothing is. */
async function loadPython(
  config: ProjectConfig,
  options: LoadProjectOptions,
  languages: ReadonlySet<ProjectLanguage>,
): Promise<ProjectPart> {
  const environment = { ...options.environment, ...currentEnvironment() };
  try {
    return await loadPythonPart(config, { ...options, ...options.python, environment });
  } catch (error) {
    const isMissing = error instanceof AppError && error.code === "graph.python_missing";
    const isNeeded = [config.auth, config.httpApp].some((part) => part && languageOf(part) === "python");
    if (!isMissing || isNeeded || languages.size === 1) throw error;
    return withoutPython(config, error);
  }
}

function withoutPython(config: ProjectConfig, error: AppError): ProjectPart {
  const graphs = config.graphs.filter((reference) => languageOf(reference) === "python");
  const broken = new Map(
    graphs.map((each) => [each.graphId, graphError("graph.load_failed", each, error.message, error)]),
  );
  const close = async () => undefined;
  return { graphs: new Map(), broken, auth: undefined, httpApp: undefined, libraryVersion: undefined, close };
}

function languagesOf(config: ProjectConfig): Set<ProjectLanguage> {
  const references = [...config.graphs, config.auth, config.httpApp].filter((each) => each !== undefined);
  const languages = new Set(references.map(languageOf));
  const embed = config.file.store?.index?.embed;
  if (embed && pythonEmbedding(embed)) languages.add("python");
  return languages;
}

/** What is imported here, and blocks this process, comes before what is waited for. */
function inLoadingOrder(languages: ReadonlySet<ProjectLanguage>): ProjectLanguage[] {
  return (["javascript", "python"] as const).filter((language) => languages.has(language));
}

function inFileOrder<Value>(config: ProjectConfig, values: ReadonlyMap<string, Value>): Map<string, Value> {
  const ids = config.graphs.map(({ graphId }) => graphId).filter((id) => values.has(id));
  return new Map(ids.map((id) => [id, values.get(id)!]));
}
