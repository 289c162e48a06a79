import { dirname, isAbsolute, relative, resolve } from "node:path";
import { z } from "zod";
import { AppError, errorMessage } from "../../platform/errors.ts";

/**
 * `langgraph.json` as it stands in people's repositories. Keys this server does not use are kept and ignored, so
 * that a file written for another server or a newer version still loads.
 */
const text = z.string("must be text").trim().min(1, "must not be empty");
const flag = z.boolean("must be true or false");
const positive = z.number("must be a number").positive("must be more than 0");

const graphEntry = z.union([text, z.looseObject({ path: text, description: text.optional() })], {
  error: 'must be "./path/to/file.ts:exportName" or an object with a "path" like that',
});

const environment = z.union(
  [text, z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])), z.array(text)],
  {
    error: "must be the path of a .env file, an object of names and values, or a list of names",
  },
);

const cors = z.looseObject({
  allow_origins: z.array(text).optional(),
  allow_methods: z.array(text).optional(),
  allow_headers: z.array(text).optional(),
  allow_credentials: flag.optional(),
  allow_origin_regex: text.optional(),
  expose_headers: z.array(text).optional(),
  max_age: z.number("must be a number of seconds").optional(),
});

const headerRule = z.looseObject({
  includes: z.array(text).nullish(),
  excludes: z.array(text).nullish(),
});

const http = z.looseObject({
  app: text.optional(),
  cors: cors.optional(),
  disable_assistants: flag.optional(),
  disable_threads: flag.optional(),
  disable_runs: flag.optional(),
  disable_store: flag.optional(),
  disable_mcp: flag.optional(),
  disable_a2a: flag.optional(),
  disable_meta: flag.optional(),
  disable_ui: flag.optional(),
  disable_webhooks: flag.optional(),
  configurable_headers: headerRule.nullish(),
  logging_headers: headerRule.nullish(),
  middleware_order: z
    .enum(["middleware_first", "auth_first"], 'must be "middleware_first" or "auth_first"')
    .optional(),
  enable_custom_route_auth: flag.optional(),
  mount_prefix: z.string("must be text").regex(/^\//, 'must start with "/"').optional(),
});

const auth = z.looseObject({ path: text.optional(), disable_studio_auth: flag.optional() });

const store = z.looseObject({
  index: z
    .looseObject({
      embed: text.optional(),
      dims: positive.int("must be a whole number").optional(),
      fields: z.array(text).nullish(),
    })
    .nullish(),
  ttl: z
    .looseObject({
      refresh_on_read: flag.optional(),
      default_ttl: positive.nullish(),
      sweep_interval_minutes: positive.nullish(),
    })
    .nullish(),
});

const checkpointer = z.looseObject({
  backend: text.optional(),
  path: text.optional(),
  ttl: z
    .looseObject({
      strategy: z.enum(["delete", "keep_latest"], 'must be "delete" or "keep_latest"').optional(),
      default_ttl: positive.nullish(),
      sweep_interval_minutes: positive.nullish(),
      sweep_limit: positive.int("must be a whole number").nullish(),
    })
    .nullish(),
});

const webhooks = z.looseObject({
  env_prefix: text.optional(),
  headers: z.record(z.string(), z.string("must be text")).optional(),
  url: z.looseObject({}).nullish(),
});

export const projectConfigSchema = z.looseObject({
  graphs: z
    .record(text, graphEntry, { error: "must be an object that maps graph names to files" })
    .refine((graphs) => Object.keys(graphs).length > 0, "must name at least one graph"),
  env: environment.nullish(),
  http: http.nullish(),
  auth: auth.nullish(),
  store: store.nullish(),
  checkpointer: checkpointer.nullish(),
  webhooks: webhooks.nullish(),
  ui: z.record(text, text, { error: "must be an object that maps graph names to files" }).nullish(),
  ui_config: z.looseObject({ shared: z.array(text).optional() }).nullish(),
  node_version: z.union([z.string(), z.number()], { error: 'must be a version such as "24"' }).nullish(),
  dependencies: z.array(text).nullish(),
  python_version: z.string('must be a version in quotes, such as "3.12"').nullish(),
  pip_config_file: text.nullish(),
  pip_installer: z.enum(["auto", "pip", "uv"], 'must be "auto", "pip" or "uv"').nullish(),
  dockerfile_lines: z.array(z.string("must be text")).nullish(),
  base_image: text.nullish(),
  encryption: z.looseObject({ path: text.optional() }).nullish(),
});

export type ProjectFile = z.infer<typeof projectConfigSchema>;

/** A file and the name it exports, as in `./src/agent.ts:graph`. */
export type ModuleReference = { file: string; exportName: string };
export type GraphReference = ModuleReference & { graphId: string; description: string | undefined };

export type ProjectConfig = {
  /** The file read, absolute. */
  path: string;
  /** Relative paths of the file start here. */
  directory: string;
  graphs: GraphReference[];
  auth: (ModuleReference & { disableStudioAuth: boolean }) | undefined;
  httpApp: ModuleReference | undefined;
  /** Name to the file of its components, from `directory`. */
  ui: ReadonlyMap<string, string>;
  /** The checked file itself, for the settings other parts read. */
  file: ProjectFile;
};

export function parseProjectConfig(source: string, path: string): ProjectConfig {
  const parsed = projectConfigSchema.safeParse(parseJson(source, path), { error: otherWords });
  if (!parsed.success) throw invalidConfig(path, parsed.error.issues.map(describeIssue));
  const file = parsed.data;
  const directory = dirname(resolve(path));
  const foreign = Object.entries(file.ui ?? {}).filter(([, each]) => !isInside(directory, each));
  if (foreign.length > 0) {
    const problems = foreign.map(([name, each]) => `ui.${name} must be a file of the project, not ${each}`);
    throw invalidConfig(path, problems);
  }
  const graphs = Object.entries(file.graphs).map(([graphId, entry]) => {
    const reference = parseModuleReference(typeof entry === "string" ? entry : entry.path);
    return { graphId, ...reference, description: typeof entry === "string" ? undefined : entry.description };
  });
  const authPath = file.auth?.path;
  const appPath = file.http?.app;
  return {
    path: resolve(path),
    directory,
    graphs,
    auth: authPath
      ? {
          ...parseModuleReference(authPath),
          disableStudioAuth: file.auth?.disable_studio_auth ?? false,
        }
      : undefined,
    httpApp: appPath ? parseModuleReference(appPath) : undefined,
    ui: new Map(
      Object.entries(file.ui ?? {}).map(([name, each]) => [
        name,
        relative(directory, resolve(directory, each)),
      ]),
    ),
    file,
  };
}

/** Splits at the last colon, so that `C:\agent.ts:graph` works; without one the default export is meant. */
export function parseModuleReference(reference: string): ModuleReference {
  const colon = reference.lastIndexOf(":");
  const name = reference.slice(colon + 1);
  if (colon <= 1 || /[\\/]/.test(name)) return { file: reference, exportName: "default" };
  return { file: reference.slice(0, colon), exportName: name === "" ? "default" : name };
}

function isInside(directory: string, file: string): boolean {
  const path = relative(directory, resolve(directory, file));
  return path !== "" && !isAbsolute(path) && path.split(/[\\/]/, 1)[0] !== "..";
}

function parseJson(source: string, path: string): unknown {
  try {
    return JSON.parse(source.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw invalidConfig(path, [`The file is not valid JSON: ${errorMessage(error)}`], error);
  }
}

const english = z.locales.en().localeError;

/** Asked where a schema has no words of its own. */
const otherWords: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === "invalid_type" && issue.input === undefined) return "is missing";
  const message = english(issue);
  return `is not right: ${typeof message === "string" ? message : (message?.message ?? "Invalid input")}`;
};

function describeIssue({ path, message }: z.core.$ZodIssue): string {
  return `${path.length === 0 ? "The file" : path.map(String).join(".")} ${message}`;
}

function invalidConfig(path: string, problems: string[], cause?: unknown): AppError {
  return new AppError({
    code: "graph.config_invalid",
    kind: "invalid",
    message: `${path} cannot be used:\n  ${problems.join("\n  ")}`,
    detail: { path, problems },
    cause,
  });
}
