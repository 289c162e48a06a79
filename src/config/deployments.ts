import { isIP } from "node:net";
import { delimiter, dirname } from "node:path";
import { z } from "zod";
import { isSubnetRange } from "../control-plane/runtimes/docker/network.ts";
import { isolationSettings } from "../control-plane/sandbox/isolation.ts";
import { amount, commaList, type Edition, flag, list, text, whole } from "./fields.ts";
import { kubernetesConfigOf, kubernetesSettings } from "./kubernetes.ts";

/** Settings of the control plane: how deployments are built and run. */
export const deploymentSettings = {
  TREADLE_RUNTIME: z
    .enum(["process", "docker", "kubernetes"])
    .default("process")
    .describe(
      "How deployed agent servers run: as processes on this machine, as containers, or as pods of a Kubernetes cluster (docs/scale.md).",
    ),
  TREADLE_ISOLATION: z
    .enum(isolationSettings)
    .default("auto")
    .describe(
      "Sandbox for deployed code and builds, with TREADLE_RUNTIME=process: auto = a sandbox if this machine allows one; required = nothing is deployed without one; off = no sandbox, everything runs as the platform's own user. docs/security.md.",
    ),
  TREADLE_DOCKER_SOCKET: text
    .default("/var/run/docker.sock")
    .describe("Socket of the Docker Engine, for TREADLE_RUNTIME=docker."),
  TREADLE_DOCKER_IMAGE: text
    .default("treadle:latest")
    .describe("Image that contains Treadle; built deployments run in it with TREADLE_RUNTIME=docker."),
  ...kubernetesSettings,
  TREADLE_DEPLOYMENTS_URL: z
    .string()
    .regex(
      /^https?:\/\/[a-z0-9-]*\{slug\}[a-z0-9-]*(?:\.[a-z0-9-]+)+(?::\d{1,5})?\/?$/i,
      "must be a URL with {slug} in the first part of its host, such as https://{slug}.agents.example.com",
    )
    .optional()
    .describe(
      "Address of each deployment's own origin, for pages; default: http://{slug}.localhost while everything is loopback, else none.",
    ),
  TREADLE_DOMAIN_CHECK: z
    .enum(["dns", "none"])
    .default("dns")
    .describe(
      "How a deployment gets a domain of its own: dns = its owner proves it by a TXT record; none = whoever may change deployments takes any host, the first to ask has it. Edition cloud always checks.",
    ),
  TREADLE_DNS_SERVERS: list
    .refine(
      (given) => commaList(given).every(isDnsServer),
      "must be addresses such as 10.0.0.53 or 10.0.0.53:5353, separated by commas",
    )
    .describe("DNS servers that are asked about domains, separated by commas; default: those of the system."),
  TREADLE_DOCKER_SUBNETS: z
    .string()
    .refine(isSubnetRange, "must be a range of addresses such as 10.231.0.0/16, from /8 to /24")
    .default("10.231.0.0/16")
    .describe("Address range for the deployments' container networks, with TREADLE_RUNTIME=docker."),
  TREADLE_DOCKER_ALLOW_ROOT: flag
    .optional()
    .describe(
      "Run images (image_uri) as the user they name, even root; default: as a user without privileges.",
    ),
  TREADLE_AGENT_HOST: z
    .string()
    .refine(
      (host) => host === "localhost" || (isIP(host) !== 0 && !/^[0:.]+$/.test(host)),
      "must be one IP address of this machine that gateways can connect to, such as 10.0.0.7, without a port; a name is not enough, because servers listen on this address alone",
    )
    .default("127.0.0.1")
    .describe(
      "The IP address of this machine at which deployed servers take requests from gateways; gateways on other machines need one that they reach. Built projects answer nobody but gateways; an image of your own (image_uri) answers everybody who reaches its port, so let a firewall close it.",
    ),
  TREADLE_AGENT_MEMORY_MB: whole(0, 1_000_000)
    .default(2_048)
    .describe("Memory limit of a deployed server whose resource_spec does not set one; 0: no limit."),
  TREADLE_AGENT_COMPILE_CACHE: z
    .string()
    .min(1)
    .optional()
    .describe(
      "A folder that a `treadle agent` of this installation used as NODE_COMPILE_CACHE. New deployments get a copy, so that their first start is faster. If root owns the files and everybody may read them (`chmod -R a+rX`), they are linked instead. For TREADLE_RUNTIME=process.",
    ),
  TREADLE_ALLOW_LOCAL_REPOSITORIES: flag
    .optional()
    .describe("Allow deployments from file:// and paths; default: only while listening on loopback."),
  TREADLE_BUILD_TIMEOUT_SECONDS: amount(1, 86_400)
    .default(900)
    .describe("Timeout of one build of a deployment."),
  TREADLE_BUILD_MAX_MB: whole(1, 1_000_000)
    .default(2_048)
    .describe("Maximum size of a built deployment, including its packages."),
  TREADLE_PYTHONS: text
    .optional()
    .describe(
      "More Pythons for builds, besides those on PATH, separated by `:`: programs, or folders that contain an installation.",
    ),
  TREADLE_ARTIFACT_CACHE_MB: whole(1, 100_000_000)
    .default(20_480)
    .describe(
      "With TREADLE_BLOB_URL: built deployments that this machine keeps unpacked, besides those that run.",
    ),
  TREADLE_BUILD_CONCURRENCY: whole(1, 64).default(2).describe("Builds at once."),
  TREADLE_DEPLOY_HEALTH_SECONDS: amount(1, 3600)
    .default(300)
    .describe("How long a new revision may take to become healthy."),
  TREADLE_DEPLOY_DRAIN_SECONDS: amount(0, 86_400)
    .default(300)
    .describe("How long a replaced revision may take to finish its requests."),
  TREADLE_DEPLOY_BAKE_SECONDS: amount(0, 3600)
    .default(10)
    .describe("How long a replaced revision keeps running in case the new one exits."),
  TREADLE_DEPLOY_ROLLBACK_SECONDS: amount(0, 86_400)
    .default(60)
    .describe("If a revision exits within this time after it took over, the previous one takes over again."),
  TREADLE_SCALE_DOWN_SECONDS: amount(1, 86_400)
    .default(300)
    .describe(
      "How long replicas of a deployed server stay that its load does not need any more. For TREADLE_RUNTIME=kubernetes.",
    ),
  TREADLE_KEEP_SERVERS: flag
    .optional()
    .describe(
      "Deployed servers keep running when the platform stops, and the next start finds them within seconds; default: they stop with it.",
    ),
  TREADLE_SLEEP_AFTER_MINUTES: amount(0, 100_000)
    .default(15)
    .describe(
      "Deployments that may sleep do so when nobody has used them for this long; 0: none sleeps. See docs/deployments.md.",
    ),
  TREADLE_LOG_RETENTION_DAYS: whole(1, 3_650)
    .default(7)
    .describe("How many days the logs of deployments are kept."),
  TREADLE_LOG_MAX_LINES: whole(1_000, 100_000_000)
    .default(100_000)
    .describe(
      "Lines that are kept of a deployment's server log, and of its build log: so many of the last days in the database, and so many older ones in the storage.",
    ),
  TREADLE_GIT_POLL_SECONDS: amount(5, 86_400)
    .default(60)
    .describe(
      "How often the branches of deployments with build_on_push, and the pull requests of those with previews, are checked.",
    ),
};

export type DeploymentConfig = ReturnType<typeof deploymentConfigOf>;

export function deploymentConfigOf(
  env: z.output<z.ZodObject<typeof deploymentSettings>>,
  { loopback, edition }: { loopback: boolean; edition: Edition },
) {
  return {
    runtime: env.TREADLE_RUNTIME,
    isolation: env.TREADLE_ISOLATION,
    dockerSocket: env.TREADLE_DOCKER_SOCKET,
    dockerImage: env.TREADLE_DOCKER_IMAGE,
    kubernetes: kubernetesConfigOf(env),
    /** Whether each build is a Job of the cluster. */
    buildsAreJobs: env.TREADLE_RUNTIME === "kubernetes" && kubernetesConfigOf(env).builds !== "here",
    /** `https://{slug}.agents.example.com`. */
    url: env.TREADLE_DEPLOYMENTS_URL?.replace(/\/+$/, ""),
    dockerSubnets: env.TREADLE_DOCKER_SUBNETS,
    dockerAllowRoot: env.TREADLE_DOCKER_ALLOW_ROOT ?? false,
    /** Where gateways reach the servers on this machine. */
    agentHost: env.TREADLE_AGENT_HOST,
    /** Of a server whose resource specification sets none; null for no limit. */
    defaultMemoryBytes: env.TREADLE_AGENT_MEMORY_MB === 0 ? null : env.TREADLE_AGENT_MEMORY_MB * 1024 * 1024,
    /** Compiled code that the homes of new deployments begin with. */
    compileCache: env.TREADLE_AGENT_COMPILE_CACHE,
    allowLocalRepositories: edition === "cloud" ? false : (env.TREADLE_ALLOW_LOCAL_REPOSITORIES ?? loopback),
    buildTimeoutMs: env.TREADLE_BUILD_TIMEOUT_SECONDS * 1000,
    buildMaxBytes: env.TREADLE_BUILD_MAX_MB * 1024 * 1024,
    /** Programs, or folders with one. */
    pythons: env.TREADLE_PYTHONS?.split(delimiter).filter((path) => path !== "") ?? [],
    artifactCacheBytes: env.TREADLE_ARTIFACT_CACHE_MB * 1024 * 1024,
    buildConcurrency: env.TREADLE_BUILD_CONCURRENCY,
    healthMs: env.TREADLE_DEPLOY_HEALTH_SECONDS * 1000,
    drainMs: env.TREADLE_DEPLOY_DRAIN_SECONDS * 1000,
    bakeMs: env.TREADLE_DEPLOY_BAKE_SECONDS * 1000,
    rollbackMs: env.TREADLE_DEPLOY_ROLLBACK_SECONDS * 1000,
    /** How long a server that was asked to stop may take; longer than the grace it gives its own runs. */
    stopMs: 75_000,
    provenMs: 10 * 60_000,
    sleepAfterMs: env.TREADLE_SLEEP_AFTER_MINUTES === 0 ? null : env.TREADLE_SLEEP_AFTER_MINUTES * 60_000,
    scaleDownMs: env.TREADLE_SCALE_DOWN_SECONDS * 1000,
    /** Whether servers go on without the platform. */
    keepServers: env.TREADLE_KEEP_SERVERS ?? false,
    domainCheck: edition === "cloud" ? "dns" : env.TREADLE_DOMAIN_CHECK,
    dnsServers: commaList(env.TREADLE_DNS_SERVERS),
    gitPollMs: env.TREADLE_GIT_POLL_SECONDS * 1000,
    purgeAfterMs: 24 * 60 * 60_000,
    logRetentionDays: env.TREADLE_LOG_RETENTION_DAYS,
    logMaxLines: env.TREADLE_LOG_MAX_LINES,
  };
}

/** `10.0.0.53`, `10.0.0.53:5353`, `fd00::53` or `[fd00::53]:5353`. */
function isDnsServer(given: string): boolean {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d{1,5})?|([^[\]]+))$/.exec(given) ?? [];
  if (bracketed !== undefined) return isIP(bracketed) === 6;
  return plain !== undefined && (isIP(plain) !== 0 || isIP(plain.replace(/:\d{1,5}$/, "")) === 4);
}

const serverNames =
  /^(PATH|LANG|LC_ALL|TZ|(https?|no|all)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE)$/i;
/** Where packages of Python come from. */
const pythonNames =
  /^(PIP_((EXTRA_)?INDEX_URL|FIND_LINKS|TRUSTED_HOST|CERT|NO_INDEX|DEFAULT_TIMEOUT|RETRIES)|UV_(DEFAULT_INDEX|INDEX|(EXTRA_)?INDEX_URL|INDEX_\w+_(USERNAME|PASSWORD)|FIND_LINKS|INSECURE_HOST|NO_INDEX|NATIVE_TLS|SYSTEM_CERTS|HTTP_TIMEOUT|PYTHON_INSTALL_MIRROR|PYTHON_DOWNLOADS))$/;
const npmNames = /^npm_config_(registry|cafile|proxy|https_proxy|noproxy)$/i;

/** A few harmless names; nothing of the platform's own settings and keys. This process's Node comes first in PATH. */
export function pickChildEnvironments(environment: NodeJS.ProcessEnv) {
  const path = [dirname(process.execPath), environment.PATH ?? "/usr/bin:/bin"].join(delimiter);
  const pick = (wanted: (name: string) => boolean): Record<string, string> => {
    const kept = Object.entries(environment).filter(([name, value]) => wanted(name) && value !== undefined);
    return { ...(Object.fromEntries(kept) as Record<string, string>), PATH: path };
  };
  return {
    build: pick((name) => serverNames.test(name) || npmNames.test(name) || pythonNames.test(name)),
    server: pick((name) => serverNames.test(name)),
  };
}
