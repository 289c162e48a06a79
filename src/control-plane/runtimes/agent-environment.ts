import { arenasBeside } from "../../platform/arenas.ts";
import { asSecrets, type SecretReference } from "../desired-state/secret-references.ts";
import type { Secret } from "../desired-state/secret-rules.ts";
import type { Resources, Scale } from "./runtime.ts";

export type AgentFacts = {
  deploymentId: string;
  deploymentName: string;
  workspaceId: string;
  revisionId: string;
  /** The address it listens on. */
  listenHost: string;
  port: number;
  url: string;
  databaseUrl: string;
  repoUrl: string | null;
  repoRef: string | null;
  commitSha: string | null;
  /** Where traces go and with what; null when this deployment is not traced. */
  tracing: { endpoint: string; apiKey: string } | null;
  /** What its server gets from Secrets of its cluster, beside this environment. */
  secretReferences: readonly SecretReference[];
  home: string;
  /** The server refuses requests without it. */
  instanceSecret: string;
  resources: Resources;
};

/** The whole environment of a deployed server: a few harmless names of the machine, its secrets, and what the platform sets. */
export function agentEnvironment(
  machine: Record<string, string>,
  secrets: readonly Secret[],
  facts: AgentFacts,
): Record<string, string> {
  const defaults: Record<string, string> = {
    NODE_ENV: "production",
    LANGGRAPH_POSTGRES_POOL_MAX_SIZE: "4",
    BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "60",
    TZ: machine.TZ ?? "UTC",
  };
  const fixed: Record<string, string> = {
    HOME: facts.home,
    TMPDIR: "/tmp",
    PORT: String(facts.port),
    TREADLE_PORT: String(facts.port),
    TREADLE_HOST: facts.listenHost,
    // The gateway has asked for credentials already, and only the gateway knows this secret.
    TREADLE_INSTANCE_SECRET: facts.instanceSecret,
    TREADLE_AGENT_AUTH: "open",
    TREADLE_PUBLIC_URL: facts.url,
    ...limitOf(facts.resources),
    DATABASE_URL: facts.databaseUrl,
    DATABASE_URI: facts.databaseUrl,
    POSTGRES_URI: facts.databaseUrl,
    LOG_JSON: "true",
    LANGSMITH_TENANT_ID: facts.workspaceId,
    LANGSMITH_HOST_PROJECT_ID: facts.deploymentId,
    LANGSMITH_HOST_PROJECT_NAME: facts.deploymentName,
    LANGSMITH_HOST_REVISION_ID: facts.revisionId,
    LANGSMITH_DEPLOYMENT_NAME: facts.deploymentName,
    LANGSMITH_PROJECT: facts.deploymentName,
    LANGCHAIN_PROJECT: facts.deploymentName,
    ...(facts.repoUrl ? { LANGSMITH_LANGGRAPH_GIT_REPO: facts.repoUrl } : {}),
    ...(facts.repoRef ? { LANGSMITH_LANGGRAPH_GIT_REF: facts.repoRef } : {}),
    ...(facts.commitSha ? { LANGSMITH_LANGGRAPH_GIT_REF_SHA: facts.commitSha } : {}),
  };
  const own = valuesOf(secrets);
  const known = valuesOf([...secrets, ...asSecrets(facts.secretReferences)]);
  return {
    ...machine,
    ...defaults,
    ...arenasBeside(known),
    ...tracingOf(known, facts.tracing),
    ...own,
    ...fixed,
  };
}

const valuesOf = (secrets: readonly Secret[]): Record<string, string> =>
  Object.fromEntries(secrets.map(({ name, value }) => [name, value]));

/** Behind walls a server cannot see it, and names it when one of its processes is killed. */
function limitOf({ memoryBytes }: Resources): Record<string, string> {
  return memoryBytes === null
    ? {}
    : { TREADLE_MEMORY_LIMIT_MB: String(Math.max(1, Math.round(memoryBytes / 1024 / 1024))) };
}

/** The owner's own words about tracing win, and the platform's key is for the platform alone. */
function tracingOf(own: Record<string, string>, target: AgentFacts["tracing"]): Record<string, string> {
  const on = { LANGSMITH_TRACING: "true", LANGCHAIN_TRACING_V2: "true" };
  if (!wantsTracing(own)) return {};
  if (own.LANGSMITH_API_KEY) return on;
  if (own.LANGSMITH_ENDPOINT || target === null) return {};
  return { ...on, LANGSMITH_ENDPOINT: target.endpoint, LANGSMITH_API_KEY: target.apiKey };
}

const wantsTracing = ({ LANGSMITH_TRACING: value }: Record<string, string>) =>
  value === undefined || value === "true";

/** Whether a server with these secrets is given the platform's key. */
export function takesPlatformKey(secrets: readonly Secret[]): boolean {
  const own = valuesOf(secrets);
  return wantsTracing(own) && !own.LANGSMITH_API_KEY && !own.LANGSMITH_ENDPOINT;
}

/** Limits from a resource specification; twice the request where only that is given, the default where nothing is. */
export function resourcesOf(
  spec: Record<string, unknown> | null,
  defaultMemoryBytes: number | null = null,
): Resources {
  const number = (name: string) => {
    const value = spec?.[name];
    return typeof value === "number" && value > 0 ? value : null;
  };
  const bytes = (megabytes: number) => Math.round(megabytes * 1024 * 1024);
  const memoryMb = number("memory_limit_mb") ?? twice(number("memory_mb"));
  const requestedMb = number("memory_mb");
  return {
    memoryBytes: memoryMb === null ? defaultMemoryBytes : bytes(memoryMb),
    cpus: number("cpu_limit") ?? twice(number("cpu")),
    requested: { memoryBytes: requestedMb === null ? null : bytes(requestedMb), cpus: number("cpu") },
  };
}

/** One, unless the specification asks for more; a server that may sleep is started with one, too. */
export function scaleOf(spec: Record<string, unknown> | null): Scale {
  const number = (name: string) => (typeof spec?.[name] === "number" ? spec[name] : 0);
  const min = Math.max(1, number("min_scale"));
  return {
    min,
    max: Math.max(min, number("max_scale")),
    by: spec?.scaling === "external" ? "external" : "treadle",
  };
}

function twice(value: number | null): number | null {
  return value === null ? null : value * 2;
}
