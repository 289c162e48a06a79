import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import type { SecretBox } from "../platform/encryption/secret-box.ts";
import type { AuditSink } from "../platform/http/audit/audit.ts";
import type { Authorize } from "../platform/http/pipeline/authorize.ts";
import type { Logger } from "../platform/logger.ts";
import type { TxtRecords } from "../platform/network/dns-records.ts";
import type { NetworkGuard } from "../platform/network/network-guard.ts";
import type { ProjectCheck } from "./builds/project-files.ts";
import type { TokenIssuer } from "./deployments/deployment-token-routes.ts";
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
  /** Pythons for builds beside those on PATH. */
  pythons: readonly string[];
  defaultMemoryBytes: number | null;
  /** Whether a domain has to be proved in DNS. */
  domainCheck: "dns" | "none";
  gitPollMs: number;
  purgeAfterMs: number;
  /** Whether servers go on when the platform is stopped. */
  keepServers: boolean;
};

export type ControlPlaneOptions = {
  database: Database;
  databaseUrl: string;
  /** Nobody else keeps data on that PostgreSQL server. */
  ownsDatabaseServer?: boolean;
  secretBox: SecretBox;
  clock: Clock;
  logger: Logger;
  network: NetworkGuard;
  /** Where domains are proved. */
  txtRecords: TxtRecords;
  runtime: Runtime;
  /** Around what a project runs while it is built. */
  walls: Enclosing;
  settings: ControlPlaneSettings;
  /** Builds, artifacts, uploads and logs. */
  folder: string;
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
  checkProject(text: string, path: string): ProjectCheck;
  /** Without it deployments are not traced. */
  tracing?: TracingPort | undefined;
  /** Without it nobody gets tokens for deployments. */
  tokens?: TokenIssuer | undefined;
  /** How people who are signed in to the console enter pages. */
  passes?: PagePasses | undefined;
  /** Whether a credential is asked for also on this machine; without that nobody has to enter. */
  credentialsRequired?: boolean;
  audit?: Pick<AuditSink, "noteRefusal"> | undefined;
  consolePath?(deploymentId: string): string;
};
