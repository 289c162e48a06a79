import type { BlobStore } from "../platform/blob/blob-store.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import type { SecretBox } from "../platform/encryption/secret-box.ts";
import type { Caller } from "../platform/http/access/caller.ts";
import type { AuditSink } from "../platform/http/audit/audit.ts";
import type { Authorize } from "../platform/http/pipeline/authorize.ts";
import type { Logger } from "../platform/logger.ts";
import type { TxtRecords } from "../platform/network/dns-records.ts";
import type { NetworkGuard } from "../platform/network/network-guard.ts";
import type { BuildPods } from "./builds/pods/build-pods.ts";
import type { ProjectCheck } from "./builds/project-files.ts";
import type { TokenIssuer } from "./deployments/deployment-token-routes.ts";
import type { AwaitedWork } from "./desired-state/sleep.ts";
import type { ListenerPlace } from "./mirror/listener-place.ts";
import type { PagePasses } from "./pages/page-doors.ts";
import type { Limits } from "./reconciler/plan.ts";
import type { Runtime } from "./runtimes/runtime.ts";
import type { Enclosing } from "./sandbox/walls.ts";
import type { TracingPort } from "./tracing/deployment-tracing.ts";

export type ControlPlaneSettings = Limits & {
  edition: "self-hosted" | "cloud";
  allowLocalRepositories: boolean;
  buildTimeoutMs: number;
  buildMaxBytes: number;
  buildConcurrency: number;
  artifactCacheBytes: number;
  /** Pythons for builds beside those on PATH. */
  pythons: readonly string[];
  defaultMemoryBytes: number | null;
  /** How long replicas stay that are not needed any more. */
  scaleDownMs: number;
  /** Whether a domain has to be proved in DNS. */
  domainCheck: "dns" | "none";
  gitPollMs: number;
  purgeAfterMs: number;
  /** How long lines of logs are kept, and how many of each log: in the database, and as many in the storage. */
  logRetentionDays: number;
  logMaxLines: number;
  /** Whether servers go on when the platform is stopped. */
  keepServers: boolean;
};

export type ControlPlaneOptions = {
  database: Database;
  databaseUrl: string;
  /** That PostgreSQL server holds only this platform's data. */
  ownsDatabaseServer?: boolean;
  secretBox: SecretBox;
  clock: Clock;
  logger: Logger;
  network: NetworkGuard;
  /** Where domains are proved. */
  txtRecords: TxtRecords;
  runtime: Runtime;
  /** Where builds run that do not run in this process. */
  buildPods?: BuildPods | undefined;
  /** Around what a project runs while it is built. */
  walls: Enclosing;
  settings: ControlPlaneSettings;
  /** Builds, homes and logs of what runs on this machine. */
  folder: string;
  /** Uploads, built deployments and old logs, for all servers. */
  blobs: BlobStore;
  /** Whether other servers have the same, and find there what this one built. */
  sharesBlobs: boolean;
  /** Every process finds the uploads and builds of the others, so any of them may build. */
  sharesBuilds?: boolean;
  /** Without it places of workspaces that are gone are left as they are. */
  workspaceExists?(workspaceId: string): Promise<boolean>;
  publicUrl(): string;
  /** The platform's own decision about callers, for the gateway. */
  authorize: Authorize;
  /** Whether a text is a credential of the platform, which no deployment may see. */
  isPlatformCredential(text: string): Promise<boolean>;
  /** `https://{slug}.agents.example.com`; null where deployments have no origin of their own. */
  deploymentsUrl?(): string | null;
  /** What builds, and what deployed servers, may see of the machine's environment. */
  buildEnvironment: Record<string, string>;
  serverEnvironment: Record<string, string>;
  /** What the agent server with this database does or waits for; null: that cannot be read, and why. */
  awaitedWork(databaseUrl: string, told: { onUnknown(reason: string): void }): Promise<AwaitedWork | null>;
  checkProject(text: string, path: string): ProjectCheck;
  /** Who sends these credentials, for listeners that are called with them. Throws where they are nobody's. */
  recognise(headers: Headers): Promise<Caller | null>;
  /** Whether the platform has keys that cannot be known by their beginning. */
  hasChosenKeys(): Promise<boolean>;
  /** Where this process runs the deployments of a platform elsewhere. */
  listener?: (ListenerPlace & { place(): string }) | undefined;
  /** Without it deployments are not traced. */
  tracing?: TracingPort | undefined;
  /** Without it no tokens for deployments are issued. */
  tokens?: TokenIssuer | undefined;
  /** How people who are signed in to the console enter pages. */
  passes?: PagePasses | undefined;
  /** Whether a credential is required also on this machine. If not, pages need no sign-in. */
  credentialsRequired?: boolean;
  audit?: Pick<AuditSink, "noteRefusal" | "recordOwn"> | undefined;
  consolePath?(deploymentId: string): string;
};

/** Whether old lines of logs go to the storage. */
export function movesLogs(
  options: Pick<ControlPlaneOptions, "sharesBlobs" | "ownsDatabaseServer" | "listener">,
): boolean {
  // A listener tells its lines to the platform, which keeps them. Those that are not told yet are only in the database.
  if (options.listener) return false;
  // Elsewhere another server may read the lines, and not have this one's data folder.
  return options.sharesBlobs || (options.ownsDatabaseServer ?? false);
}
