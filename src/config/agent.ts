import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import {
  agentAuth,
  amount,
  commaList,
  databaseUrl,
  flag,
  list,
  logLevels,
  port,
  secret,
  text,
  url,
  whole,
} from "./fields.ts";
import { isLoopbackHost, publicUrlIsLoopback } from "./loopback.ts";
import { invalidSettings, parseSettings } from "./parse-settings.ts";
import { runConfigOf, runFields, runSettings } from "./runs.ts";
import { serverSettings } from "./server.ts";
import { testingConfigOf, testingSettings } from "./testing.ts";

/** Settings of `treadle agent`, under the names people's deployments already use. */
export const agentSettingsSchema = z.object({
  TREADLE_PORT: port.optional().describe("Port to listen on; default 2024."),
  PORT: serverSettings.PORT,
  TREADLE_HOST: serverSettings.TREADLE_HOST,
  TREADLE_READY_FILE: text
    .optional()
    .describe("A file that it writes when it is ready: its URL and graphs, as one JSON object."),
  TREADLE_PROJECT_FILE: text
    .default("langgraph.json")
    .describe("The project file; --config takes precedence."),
  DATABASE_URL: databaseUrl
    .optional()
    .describe("Its own PostgreSQL 15+ database; without it, an embedded PostgreSQL is started."),
  POSTGRES_URI_CUSTOM: databaseUrl.optional().describe("The same, when DATABASE_URL is not set."),
  POSTGRES_URI: databaseUrl.optional().describe("The same, when neither of the above is set."),
  DATABASE_URI: databaseUrl.optional().describe("The same, when none of the above is set."),
  TREADLE_DATA_DIR: text
    .optional()
    .describe("Folder of the embedded database; default: .treadle-agent next to the project file."),
  LANGGRAPH_POSTGRES_POOL_MAX_SIZE: whole(2, 200).default(4).describe("Database connections it may hold."),
  N_JOBS_PER_WORKER: runFields.concurrency.describe("Runs that it executes at once; others wait."),
  BG_JOB_TIMEOUT_SECS: runFields.timeoutSeconds.describe("Timeout of one run."),
  BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: amount(0, 3_600)
    .default(180)
    .describe("How long a stop waits for requests and runs to finish."),
  TREADLE_SHUTDOWN_LEAVE_SECONDS: serverSettings.TREADLE_SHUTDOWN_LEAVE_SECONDS,
  ...runSettings,
  LSD_PROTOCOL_V2_BUFFER_SIZE: runFields.protocolEvents,
  LANGGRAPH_CONFIG: z
    .string()
    .optional()
    .describe("JSON: for each graph name, the configurable values and context of its default assistant."),
  MOUNT_PREFIX: z
    .string()
    .regex(/^\//, 'must start with "/"')
    .optional()
    .describe(
      "A path under which everything is served as well; takes precedence over http.mount_prefix of the project.",
    ),
  LANGGRAPH_AUTH_TYPE: z
    .string()
    .optional()
    .describe('With any value but "noop", every request needs TREADLE_API_KEY.'),
  TREADLE_API_KEY: secret
    .optional()
    .describe(
      "The key callers send as X-Api-Key. Required beyond loopback unless the project has its own auth.",
    ),
  TREADLE_AGENT_AUTH: agentAuth.describe(
    "Whether a credential is needed: auto = yes, if there is a key or it listens beyond loopback.",
  ),
  LANGSMITH_TENANT_ID: z.uuid("must be a uuid").optional().describe("Id of the one workspace it serves."),
  TREADLE_PUBLIC_URL: url.optional().describe("The address people use."),
  CORS_ALLOW_ORIGINS: list.describe(
    "Comma-separated web origins that may call it; takes precedence over http.cors of the project.",
  ),
  TREADLE_ALLOW_PRIVATE_ADDRESSES: flag
    .optional()
    .describe("Allow webhooks to private addresses; default: only while listening on loopback."),
  TREADLE_INSTANCE_SECRET: secret
    .optional()
    .describe(
      "Set by the platform for the servers it deploys. The gateway sends it with every request; requests without it are refused.",
    ),
  TREADLE_MEMORY_LIMIT_MB: whole(1, 100_000_000)
    .optional()
    .describe(
      "Set by the platform for the servers it deploys: their memory limit, named when a Python process is killed. It sets no limit.",
    ),
  TREADLE_WATCHDOG_SECONDS: amount(0, 86_400)
    .default(60)
    .describe("The process ends if a graph blocks it for this long, so that it can be restarted; 0 = never."),
  TREADLE_PYTHON: text
    .optional()
    .describe(
      "The Python that runs Python graphs; default: that of VIRTUAL_ENV, of .venv in the project, or on PATH.",
    ),
  TREADLE_PYTHON_WORKERS: z
    .string()
    .regex(/^(auto|[1-9]\d?)$/, 'must be a number from 1 to 99, or "auto"')
    .default("1")
    .describe("Processes that run Python graphs; auto = one for each processor, at most 4."),
  TREADLE_PYTHON_SPARE: flag
    .default(true)
    .describe(
      "Keep a spare Python process with the libraries imported (about 60 MB) while runs are in progress. It takes over at once when another process ends.",
    ),
  TREADLE_LOG_LEVEL: z.enum(logLevels).optional().describe("Log level; default info."),
  LOG_LEVEL: z.string().optional().describe("Used when TREADLE_LOG_LEVEL is not set."),
  ...testingSettings,
});

export type AgentConfig = ReturnType<typeof parseAgentConfig>;

export const defaultAgentPort = 2024;
const onlyWorkspaceId = "00000000-0000-4000-8000-000000000000";

export function parseAgentConfig(configPath: string | undefined, environment: NodeJS.ProcessEnv) {
  const env = parseSettings(agentSettingsSchema, environment);
  const path = resolve(configPath ?? env.TREADLE_PROJECT_FILE);
  const loopback = isLoopbackHost(env.TREADLE_HOST) && publicUrlIsLoopback(env.TREADLE_PUBLIC_URL);
  const typed = env.LANGGRAPH_AUTH_TYPE !== undefined && env.LANGGRAPH_AUTH_TYPE !== "noop";
  const asked = env.TREADLE_API_KEY !== undefined || typed || !loopback;
  const authRequired = env.TREADLE_AGENT_AUTH === "auto" ? asked : env.TREADLE_AGENT_AUTH === "required";
  return {
    /** The project file, absolute. */
    configPath: path,
    readyFile: env.TREADLE_READY_FILE,
    host: env.TREADLE_HOST,
    port: env.TREADLE_PORT ?? env.PORT ?? defaultAgentPort,
    dataDir: resolve(env.TREADLE_DATA_DIR ?? join(dirname(path), ".treadle-agent")),
    databaseUrl: env.DATABASE_URL ?? env.POSTGRES_URI_CUSTOM ?? env.POSTGRES_URI ?? env.DATABASE_URI,
    databasePool: env.LANGGRAPH_POSTGRES_POOL_MAX_SIZE,
    ...runConfigOf({
      settings: env,
      concurrency: env.N_JOBS_PER_WORKER,
      timeoutSeconds: env.BG_JOB_TIMEOUT_SECS,
      protocolEvents: env.LSD_PROTOCOL_V2_BUFFER_SIZE,
    }),
    shutdownGraceMs: env.BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS * 1000,
    shutdownLeaveMs: env.TREADLE_SHUTDOWN_LEAVE_SECONDS * 1000,
    mountPrefix: env.MOUNT_PREFIX,
    apiKey: env.TREADLE_API_KEY,
    /** Whether callers are asked for the server's own key. */
    authRequired,
    /** It can be reached from elsewhere and nothing was decided about who may. */
    needsGuard: authRequired && env.TREADLE_API_KEY === undefined,
    workspaceId: env.LANGSMITH_TENANT_ID ?? onlyWorkspaceId,
    /** The workspace was named, so a request that names another one is wrong. */
    workspaceGiven: env.LANGSMITH_TENANT_ID !== undefined,
    publicUrl: env.TREADLE_PUBLIC_URL?.replace(/\/+$/, ""),
    corsOrigins: commaList(env.CORS_ALLOW_ORIGINS),
    allowPrivateAddresses: env.TREADLE_ALLOW_PRIVATE_ADDRESSES ?? loopback,
    /** What the gateway in front sends with every request; undefined when there is none. */
    instanceSecret: env.TREADLE_INSTANCE_SECRET,
    /** Null: by the number of processors. */
    pythonWorkers: env.TREADLE_PYTHON_WORKERS === "auto" ? null : Number(env.TREADLE_PYTHON_WORKERS),
    pythonSpare: env.TREADLE_PYTHON_SPARE,
    watchdogMs: env.TREADLE_WATCHDOG_SECONDS * 1000,
    memoryLimitMb: env.TREADLE_MEMORY_LIMIT_MB ?? null,
    logLevel: env.TREADLE_LOG_LEVEL ?? pinoLevel(env.LOG_LEVEL),
    ...testingConfigOf(env),
  };
}

const assistantConfig = z.looseObject({
  configurable: z.record(z.string(), z.unknown()).optional(),
  context: z.record(z.string(), z.unknown()).optional(),
});

/** Read once the project's own `env` is applied, which may hold it. */
export function readDefaultConfigs(environment: NodeJS.ProcessEnv) {
  const text = environment.LANGGRAPH_CONFIG?.trim();
  if (!text) return {};
  const parsed = z.record(z.string(), assistantConfig).safeParse(parseJson(text));
  if (!parsed.success) {
    throw invalidSettings(
      `LANGGRAPH_CONFIG must be a JSON object of graph names and their config: ${z.prettifyError(parsed.error)}`,
    );
  }
  return Object.fromEntries(
    Object.entries(parsed.data).map(([graphId, { context = {}, ...config }]) => [
      graphId,
      { config, context },
    ]),
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Deployments name levels the way other loggers do. */
function pinoLevel(level: string | undefined): string {
  const name = level?.toLowerCase() ?? "info";
  const known: Record<string, string> = { warning: "warn", critical: "fatal", notset: "trace" };
  const mapped = known[name] ?? name;
  return [...logLevels, "fatal"].includes(mapped) ? mapped : "info";
}
