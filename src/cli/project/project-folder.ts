import { readFile, stat } from "node:fs/promises";
import { basename, isAbsolute, join, relative, resolve, sep } from "node:path";
import { z } from "zod";
import { AppError } from "../../platform/errors.ts";

export type ProjectFolder = {
  root: string;
  /** The project file, relative to the root. */
  configPath: string;
  name: string;
  /** A file of variables the project file names; it is not packed. */
  envFile: string | null;
};

const projectFile = z.looseObject({ graphs: z.record(z.string(), z.unknown()), env: z.unknown().optional() });
const packageFile = z.looseObject({ name: z.string().optional() });

/** What is in a folder to be deployed; throws when there is no project file. */
export async function readProjectFolder(
  root: string,
  options: { config: string | undefined; name: string | undefined },
): Promise<ProjectFolder> {
  const path = resolve(root, options.config ?? "langgraph.json");
  const configPath = relative(root, path).split(sep).join("/");
  if (configPath.startsWith("..") || isAbsolute(configPath)) {
    throw unusable(
      "graph.config_missing",
      `The project file ${path} is outside of the folder ${root}. Run the command in a folder above it, and name it with --config.`,
    );
  }
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw unusable(
      "graph.config_missing",
      `There is no project file ${configPath} in ${root}. Run the command in the project's folder, name it as argument, or name the file with --config.`,
      error,
    );
  });
  const parsed = projectFile.safeParse(parseJson(text, path));
  if (!parsed.success) {
    throw unusable(
      "graph.config_invalid",
      `${path} is not a project file: ${z.prettifyError(parsed.error).replace(/\s+/g, " ")}`,
    );
  }
  const { env } = parsed.data;
  const envFile = typeof env === "string" && (await isFile(resolve(root, env))) ? env : null;
  return { root, configPath, name: options.name ?? (await defaultName(root)), envFile };
}

/** The package's name, or the folder's. */
export async function defaultName(root: string): Promise<string> {
  const text = await readFile(join(root, "package.json"), "utf8").catch(() => "{}");
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    // The build reports a broken package.json; the folder has a name as well.
    given = {};
  }
  const parsed = packageFile.safeParse(given);
  const name = (parsed.success ? parsed.data.name?.replace(/^@[^/]*\//, "") : undefined) || basename(root);
  return (
    name
      .toLowerCase()
      .replace(/[^a-z0-9-]+/g, "-")
      .replace(/^-+|-+$/g, "") || "app"
  );
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unusable("graph.config_invalid", `${path} is not JSON: ${String(error)}`, error);
  }
}

function unusable(
  code: "graph.config_missing" | "graph.config_invalid",
  message: string,
  cause?: unknown,
): AppError {
  return new AppError({ code, kind: "invalid", message, cause });
}
