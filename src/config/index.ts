import { resolve } from "node:path";
import { z } from "zod";
import { type AgentConfig, parseAgentConfig } from "./agent-config.ts";
import type { ExportLimits } from "./bulk-export/export-limits.ts";
import {
  type DeploymentConfig,
  deploymentConfigOf,
  deploymentSettings,
  pickChildEnvironments,
} from "./deployment-config.ts";
import { exportConfigOf, exportSettings } from "./export-config.ts";
import { isAddressRange } from "./platform/network-address.ts";
import {
  commaList,
  flag,
  isLoopbackHost,
  maskSetting,
  parseSettings,
  publicUrlIsLoopback,
  secretSettings,
} from "./settings.ts";
import { type SignInConfig, signInConfigOf, signInSettings } from "./sign-in-config.ts";

export {
  type AgentConfig,
  agentSettingsSchema,
  type DefaultAssistantConfigs,
  readDefaultConfigs,
} from "./agent-config.ts";
export type { DeploymentConfig } from "./deployment-config.ts";
export { isLoopbackHost } from "./settings.ts";

/**
 * Every setting Treadle has, in one place: the only reader of `process.env`.
 * `npm run generate` turns this table into docs/configuration.md.
 */
const settings = z.object({
  TREADLE_PORT: z.coerce.number().int().min(0).max(65535).optional().describe("Port to listen on."),
  PORT: z.coerce.number().int().min(0).max(65535).optional().describe("Used when TREADLE_PORT is not set."),
  TREADLE_HOST: z.string().min(1).default("127.0.0.1").describe("Address to listen on."),
  TREADLE_DATA_DIR: z
    .string()
    .min(1)
    .default(".treadle")
    .describe("Folder of the database, keys, builds and logs."),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, "must start with postgres:// or postgresql://")
    .optional()
    .describe("A PostgreSQL 15+ server to use instead of the embedded one."),
  TREADLE_DATABASE_POOL: z.coerce
    .number()
    .int()
    .min(2)
    .max(200)
    .default(10)
    .describe("Database connections this process may hold."),
  TREADLE_API_KEY: z
    .string()
    .min(16, "must have 16 or more characters")
    .optional()
    .describe("Bootstrap API key, instead of a generated one."),
  TREADLE_WORKSPACE_ID: z
    .uuid("must be a uuid")
    .optional()
    .describe("Bootstrap workspace id, instead of a generated one."),
  TREADLE_SECRET_KEY: z
    .string()
    .min(16, "must have 16 or more characters")
    .optional()
    .describe("Encryption key; otherwise one is generated and kept in the data folder."),
  TREADLE_PREVIOUS_SECRET_KEY: z
    .string()
    .min(16, "must have 16 or more characters")
    .optional()
    .describe("The key before TREADLE_SECRET_KEY, while `treadle keys rotate-encryption` has not run yet."),
  TREADLE_EDITION: z
    .enum(["self-hosted", "cloud"])
    .default("self-hosted")
    .describe("cloud enforces plan tiers and caps and refuses private addresses."),
  TREADLE_PUBLIC_URL: z
    .url("must be a URL")
    .optional()
    .describe("The address people use. One that is not loopback requires an API key everywhere."),
  TREADLE_AGENT_AUTH: z
    .enum(["auto", "required", "open"])
    .default("auto")
    .describe("Credential for the agent server and chat: auto = open only while everything is loopback."),
  TREADLE_FAILED_CREDENTIALS_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(20)
    .describe(
      "Refused credentials a minute and address before further ones are answered 429; 0: any number.",
    ),
  TREADLE_TRUSTED_PROXIES: z
    .string()
    .default("")
    .refine(
      (text) => commaList(text).every(isAddressRange),
      "must be IP addresses or ranges such as 10.0.0.0/8",
    )
    .describe(
      "Comma-separated addresses or ranges of proxies, besides those on this machine, whose X-Forwarded-For is believed.",
    ),
  TREADLE_AUDIT_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(36_500)
    .default(365)
    .describe("Days the events of the audit log are kept; 0: for ever."),
  TREADLE_AUDIT_LOG_FILE: z
    .string()
    .min(1)
    .optional()
    .describe("A file that also gets every audit event as a line of JSON."),
  TREADLE_CORS_ORIGINS: z
    .string()
    .default("")
    .describe("Comma-separated web origins that may call the API from a browser."),
  TREADLE_ALLOW_PRIVATE_ADDRESSES: flag
    .optional()
    .describe("Allow outbound requests to private addresses; default: only while listening on loopback."),
  TREADLE_LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "silent"])
    .default("info")
    .describe("Log level."),
  TREADLE_SHUTDOWN_GRACE_SECONDS: z.coerce
    .number()
    .min(0)
    .max(3600)
    .default(30)
    .describe("How long a stop waits for requests and runs to finish."),
  TREADLE_RUN_CONCURRENCY: z.coerce
    .number()
    .int()
    .min(1)
    .max(1000)
    .default(100)
    .describe("Runs this process executes at once; further ones wait in the queue."),
  TREADLE_RUN_LEASE_SECONDS: z.coerce
    .number()
    .min(1)
    .max(600)
    .default(20)
    .describe("How long a run stays with a process that died before another one takes it over."),
  TREADLE_RUN_TIMEOUT_SECONDS: z.coerce
    .number()
    .min(1)
    .max(604_800)
    .default(86_400)
    .describe("Longest time one run may take."),
  TREADLE_WEBHOOK_SECRET: z
    .string()
    .min(16, "must have 16 or more characters")
    .optional()
    .describe(
      "Signs the webhooks of runs (HMAC-SHA256, header x-treadle-signature); without it they are unsigned.",
    ),
  TREADLE_OAUTH_PROVIDERS_FILE: z
    .string()
    .min(1)
    .optional()
    .describe("A JSON file with the OAuth providers that every workspace may use; docs/auth-service.md."),
  TREADLE_OAUTH_PLATFORM_ORGANIZATION: z
    .guid("must be a uuid")
    .optional()
    .describe("The organization whose OAuth providers every workspace may use."),
  RESUMABLE_STREAM_TTL_SECONDS: z.coerce
    .number()
    .min(1)
    .max(86_400)
    .default(120)
    .describe("How long the stream of a run can be joined again after the run has ended."),
  TREADLE_PROTOCOL_EVENTS: z.coerce
    .number()
    .int()
    .min(100)
    .max(1_000_000)
    .default(20_000)
    .describe("Events of the streaming protocol each thread keeps for replay."),
  ...signInSettings,
  ...exportSettings,
  ...deploymentSettings,
  TREADLE_VALIDATE_RESPONSES: flag
    .default(false)
    .describe("Check every response against its published schema (the tests do)."),
  TREADLE_TRACING: flag.default(true).describe("Trace the runs of the built-in graphs and of deployments."),
  TREADLE_MODEL_PRICES_FILE: z
    .string()
    .min(1)
    .optional()
    .describe("A JSON file with prices of models, which go before the built-in ones; docs/traces.md."),
  TREADLE_TEST_HOOKS: flag.default(false).describe("Serve the test hook POST /internal/truncate."),
});

export const settingNames = Object.keys(settings.shape) as (keyof typeof settings.shape)[];
export { settings as settingsSchema };

export type Config = {
  port: number;
  host: string;
  dataDir: string;
  databaseUrl: string | undefined;
  databasePool: number;
  apiKey: string | undefined;
  workspaceId: string | undefined;
  secretKey: string | undefined;
  previousSecretKey: string | undefined;
  edition: "self-hosted" | "cloud";
  publicUrl: string | undefined;
  /** Whether areas C and D ask for a credential. */
  agentAuthRequired: boolean;
  failedCredentialsPerMinute: number;
  trustedProxies: string[];
  audit: { retentionDays: number; file: string | undefined };
  corsOrigins: string[];
  allowPrivateAddresses: boolean;
  logLevel: string;
  shutdownGraceMs: number;
  runConcurrency: number;
  runLeaseMs: number;
  runTimeoutMs: number;
  webhookSecret: string | undefined;
  oauthProvidersFile: string | undefined;
  oauthPlatformOrganization: string | undefined;
  /** How long the stream of a run can be joined again after its end. */
  streamKeepMs: number;
  protocolEvents: number;
  signIn: SignInConfig;
  exports: ExportLimits;
  validateResponses: boolean;
  tracing: boolean;
  modelPricesFile: string | undefined;
  testHooks: boolean;
  deployments: DeploymentConfig;
};

export const defaultPort = 8124;

/** Reads and checks the environment; a bad value names the variable and what it must be. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const env = parseSettings(settings, environment);
  const loopback =
    isLoopbackHost(env.TREADLE_HOST) &&
    publicUrlIsLoopback(env.TREADLE_PUBLIC_URL) &&
    publicUrlIsLoopback(env.TREADLE_DEPLOYMENTS_URL?.replace("{slug}", "x"));
  return {
    port: env.TREADLE_PORT ?? env.PORT ?? defaultPort,
    host: env.TREADLE_HOST,
    dataDir: resolve(env.TREADLE_DATA_DIR),
    databaseUrl: env.DATABASE_URL,
    databasePool: env.TREADLE_DATABASE_POOL,
    apiKey: env.TREADLE_API_KEY,
    workspaceId: env.TREADLE_WORKSPACE_ID,
    secretKey: env.TREADLE_SECRET_KEY,
    previousSecretKey: env.TREADLE_PREVIOUS_SECRET_KEY,
    edition: env.TREADLE_EDITION,
    publicUrl: env.TREADLE_PUBLIC_URL?.replace(/\/+$/, ""),
    agentAuthRequired: env.TREADLE_AGENT_AUTH === "auto" ? !loopback : env.TREADLE_AGENT_AUTH === "required",
    failedCredentialsPerMinute: env.TREADLE_FAILED_CREDENTIALS_PER_MINUTE,
    trustedProxies: commaList(env.TREADLE_TRUSTED_PROXIES),
    audit: { retentionDays: env.TREADLE_AUDIT_RETENTION_DAYS, file: env.TREADLE_AUDIT_LOG_FILE },
    corsOrigins: commaList(env.TREADLE_CORS_ORIGINS),
    allowPrivateAddresses:
      env.TREADLE_EDITION === "cloud" ? false : (env.TREADLE_ALLOW_PRIVATE_ADDRESSES ?? loopback),
    logLevel: env.TREADLE_LOG_LEVEL,
    shutdownGraceMs: env.TREADLE_SHUTDOWN_GRACE_SECONDS * 1000,
    runConcurrency: env.TREADLE_RUN_CONCURRENCY,
    runLeaseMs: env.TREADLE_RUN_LEASE_SECONDS * 1000,
    runTimeoutMs: env.TREADLE_RUN_TIMEOUT_SECONDS * 1000,
    webhookSecret: env.TREADLE_WEBHOOK_SECRET,
    oauthProvidersFile: env.TREADLE_OAUTH_PROVIDERS_FILE && resolve(env.TREADLE_OAUTH_PROVIDERS_FILE),
    oauthPlatformOrganization: env.TREADLE_OAUTH_PLATFORM_ORGANIZATION,
    streamKeepMs: env.RESUMABLE_STREAM_TTL_SECONDS * 1000,
    protocolEvents: env.TREADLE_PROTOCOL_EVENTS,
    signIn: signInConfigOf(env),
    exports: exportConfigOf(env, env.TREADLE_EDITION),
    validateResponses: env.TREADLE_VALIDATE_RESPONSES,
    tracing: env.TREADLE_TRACING,
    modelPricesFile: env.TREADLE_MODEL_PRICES_FILE && resolve(env.TREADLE_MODEL_PRICES_FILE),
    testHooks: env.TREADLE_TEST_HOOKS,
    deployments: deploymentConfigOf(env, { loopback, edition: env.TREADLE_EDITION }),
  };
}

/** The environment with some settings replaced, for command line options, which come first. */
export function environmentWith(
  overrides: Partial<Record<(typeof settingNames)[number], string>>,
): NodeJS.ProcessEnv {
  const given = Object.entries(overrides).filter(([, value]) => value !== undefined);
  return { ...process.env, ...Object.fromEntries(given) };
}

/** Takes the platform's own secrets out of the environment once they were read: nothing it starts inherits them. */
export function forgetSecrets(environment: NodeJS.ProcessEnv = process.env): void {
  for (const name of [...secretSettings, "DATABASE_URL"]) delete environment[name];
}

/** One setting as it was written, unchecked: for what must work even when another setting is wrong. */
export function readSetting(name: (typeof settingNames)[number]): string | undefined {
  return process.env[name];
}

/** Name, default and meaning of each setting of a schema. */
export function describeSettings(
  schema: z.ZodObject,
): { name: string; fallback: string; description: string }[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const fallback = (field as z.ZodType).safeParse(undefined);
    const value = fallback.success && fallback.data !== undefined ? String(fallback.data) : "";
    return { name, fallback: value, description: (field as z.ZodType).description ?? "" };
  });
}

/** For `treadle config`: every setting, its value, whether it was set, with secrets masked. */
export function describeConfig(environment: NodeJS.ProcessEnv = process.env) {
  return settingNames.map((name) => {
    const raw = environment[name];
    const schema = settings.shape[name];
    const fallback = schema.safeParse(undefined);
    const value = raw ?? (fallback.success && fallback.data !== undefined ? String(fallback.data) : "");
    return {
      name,
      value: maskSetting(name, value),
      source: raw === undefined || raw === "" ? ("default" as const) : ("environment" as const),
      description: schema.description ?? "",
    };
  });
}

/** Keys of model providers, for the built-in agent; nothing else of the environment reaches it. */
export function providerKeys(
  environment: NodeJS.ProcessEnv = process.env,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => /^[A-Z0-9_]+_API_KEY$/.test(name)),
  );
}

/** Settings of `treadle agent`; options of the command line come first. */
export function readAgentConfig(
  configPath: string | undefined,
  overrides: Record<string, string | undefined> = {},
  environment: NodeJS.ProcessEnv = process.env,
): AgentConfig {
  const given = Object.entries(overrides).filter(([, value]) => value !== undefined);
  const config = parseAgentConfig(configPath, { ...environment, ...Object.fromEntries(given) });
  // Neither the project's code nor what it starts has a use for it.
  delete environment.TREADLE_INSTANCE_SECRET;
  return config;
}

/** The environment as it is, for a project's own code and file. */
export function currentEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/** Sets variables where a project's code looks for them; what is set already stays. */
export function applyEnvironment(values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) process.env[name] ??= value;
}

/** What builds and deployed servers may see of this process's environment. */
export function childEnvironments(environment: NodeJS.ProcessEnv = process.env) {
  return pickChildEnvironments(environment);
}
