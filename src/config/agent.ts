import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import {
  commaList,
  flag,
  invalidSettings,
  isLoopbackHost,
  parseSettings,
  publicUrlIsLoopback,
} from "./settings.ts";

const databaseUrl = z.string().regex(/^postgres(ql)?:\/\//, "must start with postgres:// or postgresql://");
const seconds = (least: number, most: number) => z.coerce.number().min(least).max(most);
const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
const port = whole(0, 65535);
const secret = z.string().min(16, "must have 16 or more characters");

/** Settings of `treadle agent`, under the names people's deployments already use. */
export const agentSettingsSchema = z.object({
  TREADLE_PORT: port.optional().describe("Port to listen on; default 2024."),
  PORT: port.optional().describe("Used when TREADLE_PORT is not set."),
  TREADLE_HOST: z.string().min(1).default("127.0.0.1").describe("Address to listen on."),
  TREADLE_READY_FILE: z
    .string()
    .min(1)
    .optional()
    .describe("A file it writes once it serves: its URL and graphs, as one JSON object."),
  TREADLE_PROJECT_FILE: z
    .string()
    .min(1)
    .default("langgraph.json")
    .describe("The project file; --config goes before it."),
  DATABASE_URL: databaseUrl
    .optional()
    .describe("A PostgreSQL 15+ database of its own; without one an embedded PostgreSQL is started."),
  POSTGRES_URI_CUSTOM: databaseUrl.optional().describe("The same, when DATABASE_URL is not set."),
  POSTGRES_URI: databaseUrl.optional().describe("The same, when neither of the above is set."),
  DATABASE_URI: databaseUrl.optional().describe("The same, when none of the above is set."),
  TREADLE_DATA_DIR: z
    .string()
    .min(1)
    .optional()
    .describe("Folder of the embedded database; default .treadle-agent beside the project file."),
  LANGGRAPH_POSTGRES_POOL_MAX_SIZE: whole(2, 200).default(4).describe("Database connections it may hold."),
  N_JOBS_PER_WORKER: whole(1, 1000).default(100).describe("Runs it executes at once; further ones wait."),
  BG_JOB_TIMEOUT_SECS: seconds(1, 604_800).default(86_400).describe("Longest time one run may take."),
  BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: seconds(0, 3600)
    .default(180)
    .describe("How long a stop waits for requests and runs to finish."),
  TREADLE_RUN_LEASE_SECONDS: seconds(1, 600)
    .default(20)
    .describe("How long a run stays with a process that died before another one takes it over."),
  RESUMABLE_STREAM_TTL_SECONDS: seconds(1, 86_400)
    .default(120)
    .describe("How long the stream of a run can be joined again after the run has ended."),
  LSD_PROTOCOL_V2_BUFFER_SIZE: whole(100, 1_000_000)
    .default(20_000)
    .describe("Events of the streaming protocol each thread keeps for replay."),
  LANGGRAPH_CONFIG: z
    .string()
    .optional()
    .describe("JSON: graph name to the configurable values and context of its default assistant."),
  MOUNT_PREFIX: z
    .string()
    .regex(/^\//, 'must start with "/"')
    .optional()
    .describe("Path everything is served under as well; wins over http.mount_prefix of the project."),
  LANGGRAPH_AUTH_TYPE: z
    .string()
    .optional()
    .describe('Anything but "noop" asks every caller for TREADLE_API_KEY.'),
  TREADLE_API_KEY: secret
    .optional()
    .describe(
      "The key callers send as X-Api-Key. Required beyond loopback unless the project has its own auth.",
    ),
  TREADLE_AGENT_AUTH: z
    .enum(["auto", "required", "open"])
    .default("auto")
    .describe("Credential: auto = asked for when there is a key or it listens beyond loopback."),
  LANGSMITH_TENANT_ID: z.uuid("must be a uuid").optional().describe("Id of the one workspace it serves."),
  TREADLE_PUBLIC_URL: z.url("must be a URL").optional().describe("The address people use."),
  CORS_ALLOW_ORIGINS: z
    .string()
    .default("")
    .describe("Comma-separated web origins that may call it; wins over http.cors of the project."),
  TREADLE_ALLOW_PRIVATE_ADDRESSES: flag
    .optional()
    .describe("Allow webhooks to private addresses; default: only while listening on loopback."),
  TREADLE_WEBHOOK_SECRET: secret
    .optional()
    .describe("Signs webhooks (HMAC-SHA256, header x-treadle-signature); without it they are unsigned."),
  TREADLE_INSTANCE_SECRET: secret
    .optional()
    .describe(
      "Set by the platform for the servers it deploys: requests without it, which the gateway sends, are refused.",
    ),
  TREADLE_WATCHDOG_SECONDS: seconds(0, 86_400)
    .default(60)
    .describe(
      "Ends the process when a graph blocks it for that long, so that it can be restarted; 0 = never.",
    ),
  TREADLE_LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "silent"])
    .optional()
    .describe("Log level; default info."),
  LOG_LEVEL: z.string().optional().describe("Used when TREADLE_LOG_LEVEL is not set."),
  TREADLE_VALIDATE_RESPONSES: flag
    .default(false)
    .describe("Check every response against its published schema."),
  TREADLE_TEST_HOOKS: flag.default(false).describe("Serve the test hook POST /internal/truncate."),
});

export type DefaultAssistantConfigs = Record<
  string,
  { config: Record<string, unknown>; context: Record<string, unknown> }
>;

export type AgentConfig = {
  /** The project file, absolute. */
  configPath: string;
  readyFile: string | undefined;
  host: string;
  port: number;
  dataDir: string;
  databaseUrl: string | undefined;
  databasePool: number;
  runConcurrency: number;
  runTimeoutMs: number;
  runLeaseMs: number;
  shutdownGraceMs: number;
  streamKeepMs: number;
  protocolEvents: number;
  mountPrefix: string | undefined;
  apiKey: string | undefined;
  /** Whether callers are asked for the server's own key. */
  authRequired: boolean;
  /** It can be reached from elsewhere and nothing was decided about who may. */
  needsGuard: boolean;
  workspaceId: string;
  /** The workspace was named, so a request that names another one is wrong. */
  workspaceGiven: boolean;
  publicUrl: string | undefined;
  corsOrigins: string[];
  allowPrivateAddresses: boolean;
  webhookSecret: string | undefined;
  /** What the gateway in front says with every request; undefined when there is none. */
  instanceSecret: string | undefined;
  watchdogMs: number;
  logLevel: string;
  validateResponses: boolean;
  testHooks: boolean;
};

export const defaultAgentPort = 2024;
const onlyWorkspaceId = "00000000-0000-4000-8000-000000000000";

export function parseAgentConfig(
  configPath: string | undefined,
  environment: NodeJS.ProcessEnv,
): AgentConfig {
  const env = parseSettings(agentSettingsSchema, environment);
  const path = resolve(configPath ?? env.TREADLE_PROJECT_FILE);
  const loopback = isLoopbackHost(env.TREADLE_HOST) && publicUrlIsLoopback(env.TREADLE_PUBLIC_URL);
  const typed = env.LANGGRAPH_AUTH_TYPE !== undefined && env.LANGGRAPH_AUTH_TYPE !== "noop";
  const asked = env.TREADLE_API_KEY !== undefined || typed || !loopback;
  const authRequired = env.TREADLE_AGENT_AUTH === "auto" ? asked : env.TREADLE_AGENT_AUTH === "required";
  return {
    configPath: path,
    readyFile: env.TREADLE_READY_FILE,
    host: env.TREADLE_HOST,
    port: env.TREADLE_PORT ?? env.PORT ?? defaultAgentPort,
    dataDir: resolve(env.TREADLE_DATA_DIR ?? join(dirname(path), ".treadle-agent")),
    databaseUrl: env.DATABASE_URL ?? env.POSTGRES_URI_CUSTOM ?? env.POSTGRES_URI ?? env.DATABASE_URI,
    databasePool: env.LANGGRAPH_POSTGRES_POOL_MAX_SIZE,
    runConcurrency: env.N_JOBS_PER_WORKER,
    runTimeoutMs: env.BG_JOB_TIMEOUT_SECS * 1000,
    runLeaseMs: env.TREADLE_RUN_LEASE_SECONDS * 1000,
    shutdownGraceMs: env.BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS * 1000,
    streamKeepMs: env.RESUMABLE_STREAM_TTL_SECONDS * 1000,
    protocolEvents: env.LSD_PROTOCOL_V2_BUFFER_SIZE,
    mountPrefix: env.MOUNT_PREFIX,
    apiKey: env.TREADLE_API_KEY,
    authRequired,
    needsGuard: authRequired && env.TREADLE_API_KEY === undefined,
    workspaceId: env.LANGSMITH_TENANT_ID ?? onlyWorkspaceId,
    workspaceGiven: env.LANGSMITH_TENANT_ID !== undefined,
    publicUrl: env.TREADLE_PUBLIC_URL?.replace(/\/+$/, ""),
    corsOrigins: commaList(env.CORS_ALLOW_ORIGINS),
    allowPrivateAddresses: env.TREADLE_ALLOW_PRIVATE_ADDRESSES ?? loopback,
    webhookSecret: env.TREADLE_WEBHOOK_SECRET,
    instanceSecret: env.TREADLE_INSTANCE_SECRET,
    watchdogMs: env.TREADLE_WATCHDOG_SECONDS * 1000,
    logLevel: env.TREADLE_LOG_LEVEL ?? pinoLevel(env.LOG_LEVEL),
    validateResponses: env.TREADLE_VALIDATE_RESPONSES,
    testHooks: env.TREADLE_TEST_HOOKS,
  };
}

const assistantConfig = z.looseObject({
  configurable: z.record(z.string(), z.unknown()).optional(),
  context: z.record(z.string(), z.unknown()).optional(),
});

/** Read once the project's own `env` is applied, which may hold it. */
export function readDefaultConfigs(environment: NodeJS.ProcessEnv): DefaultAssistantConfigs {
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
  return ["trace", "debug", "info", "warn", "error", "fatal", "silent"].includes(mapped) ? mapped : "info";
}
