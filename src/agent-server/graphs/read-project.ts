import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { AppError, errorMessage } from "../../platform/errors.ts";
import { environmentAdditions, parseEnvFile, requestedEnvironment } from "./env-file.ts";
import { type ProjectConfig, parseProjectConfig } from "./project-config.ts";

export type ReadProjectOptions = {
  configPath: string;
  /** What is set already; it wins over the project's own values. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Sets variables where the user's code will look for them; called before any of it is loaded. */
  applyEnvironment(values: Record<string, string>): void;
};

/** The project file and its environment: what comes before any code of the project. */
export async function readProject(
  options: ReadProjectOptions,
): Promise<{ config: ProjectConfig; warnings: string[] }> {
  const config = parseProjectConfig(await readConfigFile(options.configPath), options.configPath);
  const warnings: string[] = [];
  options.applyEnvironment(await projectEnvironment(config, options.environment, warnings));
  return { config, warnings };
}

async function readConfigFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const isFolder = (error as NodeJS.ErrnoException).code === "EISDIR";
    const problem = isFolder ? "is a folder" : `cannot be read (${errorMessage(error)})`;
    throw new AppError({
      code: "graph.config_missing",
      kind: "invalid",
      message: `The project file ${path} ${problem}. Set the path of a langgraph.json.`,
      cause: error,
    });
  }
}

async function projectEnvironment(
  config: ProjectConfig,
  present: ReadProjectOptions["environment"],
  warnings: string[],
): Promise<Record<string, string>> {
  const request = requestedEnvironment(config.file.env);
  if (request.kind === "none") return {};
  if (request.kind === "values") {
    const unset = request.required.filter((name) => present[name] === undefined);
    if (unset.length > 0)
      warnings.push(`${config.path} lists ${unset.join(", ")} under "env", which is not set.`);
    return environmentAdditions(request.values, present);
  }
  const file = resolve(config.directory, request.path);
  try {
    return environmentAdditions(parseEnvFile(await readFile(file, "utf8")), present);
  } catch (error) {
    // Rarely committed, and a deployment gets the same values as secrets: a warning, not a failure.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    warnings.push(`The env file ${file} named in ${config.path} does not exist; its variables are not set.`);
    return {};
  }
}
