import type { Failure } from "./failure.ts";
import type { SecretReference } from "./secret-references.ts";

export const revisionStatuses = [
  "CREATING",
  "QUEUED",
  "AWAITING_BUILD",
  "BUILDING",
  "AWAITING_DEPLOY",
  "DEPLOYING",
  "CREATE_FAILED",
  "BUILD_FAILED",
  "DEPLOY_FAILED",
  "DEPLOYED",
  "SKIPPED",
  "INTERRUPTED",
  "UNKNOWN",
] as const;
export type RevisionStatus = (typeof revisionStatuses)[number];

export const failedStatuses: readonly RevisionStatus[] = ["CREATE_FAILED", "BUILD_FAILED", "DEPLOY_FAILED"];

/** Every move a revision may make; the store's updates are built from this table. */
export const revisionTransitions: Record<RevisionStatus, readonly RevisionStatus[]> = {
  CREATING: ["AWAITING_BUILD", "AWAITING_DEPLOY", "CREATE_FAILED", "SKIPPED", "INTERRUPTED"],
  QUEUED: ["AWAITING_BUILD", "AWAITING_DEPLOY", "CREATE_FAILED", "SKIPPED", "INTERRUPTED"],
  AWAITING_BUILD: ["BUILDING", "BUILD_FAILED", "SKIPPED", "INTERRUPTED"],
  BUILDING: ["AWAITING_DEPLOY", "BUILD_FAILED", "INTERRUPTED"],
  AWAITING_DEPLOY: ["DEPLOYING", "CREATE_FAILED", "DEPLOY_FAILED", "INTERRUPTED"],
  DEPLOYING: ["DEPLOYED", "CREATE_FAILED", "DEPLOY_FAILED", "INTERRUPTED"],
  // A revision that dies right after the switch has not been deployed after all.
  DEPLOYED: ["DEPLOY_FAILED"],
  CREATE_FAILED: [],
  BUILD_FAILED: [],
  DEPLOY_FAILED: [],
  SKIPPED: [],
  INTERRUPTED: [],
  UNKNOWN: [],
};

export function statusesBefore(next: RevisionStatus): RevisionStatus[] {
  return revisionStatuses.filter((status) => revisionTransitions[status].includes(next));
}

const openStatuses = new Set<RevisionStatus>([
  "CREATING",
  "QUEUED",
  "AWAITING_BUILD",
  "BUILDING",
  "AWAITING_DEPLOY",
  "DEPLOYING",
]);

export function isOpen(status: RevisionStatus): boolean {
  return openStatuses.has(status);
}

/** Nothing was begun for it yet, so a newer one may take its place. */
export function isWaiting(status: RevisionStatus): boolean {
  return status === "CREATING" || status === "QUEUED";
}

const progressAt: Record<RevisionStatus, number> = {
  CREATING: 0,
  QUEUED: 0,
  AWAITING_BUILD: 5,
  BUILDING: 10,
  AWAITING_DEPLOY: 65,
  DEPLOYING: 70,
  DEPLOYED: 100,
  CREATE_FAILED: 100,
  BUILD_FAILED: 100,
  DEPLOY_FAILED: 100,
  SKIPPED: 100,
  INTERRUPTED: 100,
  UNKNOWN: 100,
};

export function progressOf(status: RevisionStatus): number {
  return progressAt[status];
}

export const sources = [
  "github",
  "external_docker",
  "internal_docker",
  "internal_source",
  "internal_template",
] as const;
export type Source = (typeof sources)[number];

export function isBuilt(source: Source): boolean {
  return source === "github" || source === "internal_source" || source === "internal_template";
}

export type SourceRevisionConfig = {
  repo_ref: string | null;
  graph_config_path: string | null;
  image_uri: string | null;
  source_tarball_path: string | null;
};

/** What a build and a start need besides the revision's own configuration. */
export type BuildConfig = {
  repo_url: string | null;
  integration_id: string | null;
  install_command: string | null;
  build_command: string | null;
  resource_spec: Record<string, unknown> | null;
  /** Of a listener's cluster, where the deployment names one. Not in revisions of earlier versions. */
  k8s_namespace?: string | null | undefined;
  secret_references?: SecretReference[] | undefined;
};

/** A server that exited unexpectedly is being started again; one that keeps exiting is in a loop. */
export const revisionConditions = ["restarting", "crash_loop"] as const;
export type RevisionCondition = (typeof revisionConditions)[number];

export type Revision = {
  id: string;
  deployment_id: string;
  workspace_id: string;
  number: number;
  status: RevisionStatus;
  status_message: string | null;
  /** Why it failed, in the project's own words; null where it has not, or where it is not the project's. */
  failure: Failure | null;
  /** How what serves is doing when it is not well. */
  condition: RevisionCondition | null;
  progress: number;
  source: Source;
  source_revision_config: SourceRevisionConfig;
  build_config: BuildConfig;
  repo_commit_sha: string | null;
  artifact_key: string | null;
  uses_own_auth: boolean;
  /** What its servers run in, as the first of them found it; null outside of containers. */
  image_reference: string | null;
  image_digest: string | null;
  secrets_sealed: string;
  redeploy_of: string | null;
  created_at: Date;
  updated_at: Date;
};

export type RevisionEvent = {
  id: number;
  revision_id: string;
  kind: string;
  status: RevisionStatus | null;
  message: string;
  created_at: Date;
};
