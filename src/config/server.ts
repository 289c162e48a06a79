import { resolve } from "node:path";
import { z } from "zod";
import { isAddressRange } from "../platform/network/network-address.ts";
import {
  agentAuth,
  amount,
  commaList,
  databaseUrl,
  edition,
  flag,
  list,
  logLevels,
  port,
  secret,
  text,
  url,
  whole,
} from "./fields.ts";

export const defaultPort = 8124;

/** Settings of the server itself: where it listens, what it depends on and who may use it. */
export const serverSettings = {
  TREADLE_PORT: port.optional().describe("Port to listen on."),
  PORT: port.optional().describe("Used when TREADLE_PORT is not set."),
  TREADLE_HOST: text.default("127.0.0.1").describe("Address to listen on."),
  TREADLE_DATA_DIR: text.default(".treadle").describe("Folder for the database, keys, builds and logs."),
  DATABASE_URL: databaseUrl
    .optional()
    .describe("A PostgreSQL 15+ server to use instead of the embedded one."),
  TREADLE_DATABASE_POOL: whole(2, 200).default(10).describe("Database connections each process may hold."),
  TREADLE_API_KEY: secret
    .optional()
    .describe(
      "Bootstrap API key, instead of a generated one. Let it begin with trk_, as generated ones do: listeners then know it for a key of the platform without asking there about every credential.",
    ),
  TREADLE_WORKSPACE_ID: z
    .uuid("must be a uuid")
    .optional()
    .describe("Bootstrap workspace id, instead of a generated one."),
  TREADLE_SECRET_KEY: secret
    .optional()
    .describe("Encryption key. Without it, one is generated and kept in the data folder."),
  TREADLE_PREVIOUS_SECRET_KEY: secret
    .optional()
    .describe("The previous value of TREADLE_SECRET_KEY, until `treadle keys rotate-encryption` has run."),
  TREADLE_EDITION: edition.describe("cloud enforces plans and caps, and refuses private addresses."),
  TREADLE_PUBLIC_URL: url
    .optional()
    .describe("The address people use. If it is not loopback, every request needs an API key."),
  TREADLE_INTERNAL_URL: url
    .optional()
    .describe(
      "The address at which deployed servers reach the platform inside its network; default: this process itself.",
    ),
  TREADLE_AGENT_AUTH: agentAuth.describe(
    "Whether the agent server and the chat need a credential: auto = yes, unless everything is loopback.",
  ),
  TREADLE_FAILED_CREDENTIALS_PER_MINUTE: whole(0, 1_000_000)
    .default(20)
    .describe("Refused credentials per minute and client address before further ones get 429; 0: no limit."),
  TREADLE_TRUSTED_PROXIES: list
    .refine(
      (value) => commaList(value).every(isAddressRange),
      "must be IP addresses or ranges such as 10.0.0.0/8",
    )
    .describe(
      "Comma-separated addresses or ranges of proxies, besides those on this machine, whose X-Forwarded-For is trusted.",
    ),
  TREADLE_AUDIT_RETENTION_DAYS: whole(0, 36_500)
    .default(365)
    .describe("Days that audit log events are kept; 0: for ever."),
  TREADLE_AUDIT_LOG_FILE: text
    .optional()
    .describe("A file to which every audit event is also written, as a line of JSON."),
  TREADLE_CORS_ORIGINS: list.describe("Comma-separated web origins that may call the API from a browser."),
  TREADLE_ALLOW_PRIVATE_ADDRESSES: flag
    .optional()
    .describe("Allow outbound requests to private addresses; default: only while listening on loopback."),
  TREADLE_LOG_LEVEL: z
    .enum(logLevels)
    .default("info")
    .describe("Log level. info: changes and failures; debug: every request and step."),
  TREADLE_SHUTDOWN_GRACE_SECONDS: amount(0, 3_600)
    .default(30)
    .describe("How long a stop waits for requests and runs to finish."),
  TREADLE_SHUTDOWN_LEAVE_SECONDS: amount(0, 600)
    .default(0)
    .describe(
      "How long a server that was sent SIGTERM goes on serving everything before it refuses requests, so that a balancer and its clients turn to others: 10 where several servers share a database. Ctrl-C does not wait for it.",
    ),
};

export function serverConfigOf(
  env: z.output<z.ZodObject<typeof serverSettings>>,
  { loopback }: { loopback: boolean },
) {
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
    internalUrl: env.TREADLE_INTERNAL_URL?.replace(/\/+$/, ""),
    /** Whether areas C and D ask for a credential. */
    agentAuthRequired: env.TREADLE_AGENT_AUTH === "auto" ? !loopback : env.TREADLE_AGENT_AUTH === "required",
    failedCredentialsPerMinute: env.TREADLE_FAILED_CREDENTIALS_PER_MINUTE,
    trustedProxies: commaList(env.TREADLE_TRUSTED_PROXIES),
    audit: { retentionDays: env.TREADLE_AUDIT_RETENTION_DAYS, file: env.TREADLE_AUDIT_LOG_FILE },
    corsOrigins: commaList(env.TREADLE_CORS_ORIGINS),
    allowPrivateAddresses:
      env.TREADLE_EDITION === "cloud" ? false : (env.TREADLE_ALLOW_PRIVATE_ADDRESSES ?? loopback),
    logLevel: env.TREADLE_LOG_LEVEL as string,
    shutdownGraceMs: env.TREADLE_SHUTDOWN_GRACE_SECONDS * 1000,
    shutdownLeaveMs: env.TREADLE_SHUTDOWN_LEAVE_SECONDS * 1000,
  };
}
