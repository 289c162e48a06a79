import {
  type BuildConfig,
  failedStatuses,
  type RevisionStatus,
  type Source,
  type SourceRevisionConfig,
} from "./revision.ts";
import type { SecretReference } from "./secret-references.ts";
import type { SleepState } from "./sleep.ts";

export const deploymentTypes = [
  "dev_free",
  "dev",
  "prod",
  "dev_zero",
  "dev_free_zero",
  "serverless",
  "dedicated",
] as const;

export const deploymentStatuses = [
  "AWAITING_DATABASE",
  "READY",
  "FAILED",
  "UNUSED",
  "AWAITING_DELETE",
  "AWAITING_FINAL_DELETE",
  "UNKNOWN",
] as const;
export type DeploymentStatus = (typeof deploymentStatuses)[number];

export const tiers = [
  "SERVERLESS_S",
  "SERVERLESS_M",
  "SERVERLESS_L",
  "DEDICATED_S",
  "DEDICATED_M",
  "DEDICATED_L",
] as const;
export type Tier = (typeof tiers)[number];

/** What its owner wants of it; the reconciler follows. */
export const desiredStates = ["running", "stopped"] as const;
export type DesiredState = (typeof desiredStates)[number];

export type SourceConfig = {
  integration_id: string | null;
  repo_url: string | null;
  deployment_type: (typeof deploymentTypes)[number] | null;
  build_on_push: boolean | null;
  custom_url: string | null;
  resource_spec: Record<string, unknown> | null;
  listener_id: string | null;
  listener_config: { k8s_namespace?: string | null | undefined } | null;
  install_command: string | null;
  build_command: string | null;
};

export type Deployment = {
  id: string;
  workspace_id: string;
  name: string;
  display_name: string | null;
  slug: string;
  source: Source;
  source_config: SourceConfig;
  source_revision_config: SourceRevisionConfig;
  tracked_repo_ref: string | null;
  polled_commit_sha: string | null;
  secrets_sealed: string;
  secret_references: SecretReference[] | null;
  shareable: boolean;
  route_through_gateway: boolean;
  deployment_tier: Tier | null;
  compute_tier: string | null;
  database_tier: string | null;
  database_name: string;
  database_password_sealed: string;
  database_ready: boolean;
  latest_revision_id: string | null;
  active_revision_id: string | null;
  previous_revision_id: string | null;
  switched_at: Date | null;
  desired_state: DesiredState;
  stopped_at: Date | null;
  /** Servers started before it are replaced. */
  restart_requested_at: Date | null;
  sleep_state: SleepState;
  sleep_changed_at: Date | null;
  /** Its own database was read after its server had ended, so `wake_at` holds. */
  sleep_settled: boolean;
  /** When it is woken by itself, for what is due next. */
  wake_at: Date | null;
  /** Whether each pull request gets a deployment of its own, and whether that gets the secrets. */
  previews: boolean;
  previews_share_secrets: boolean;
  /** Of a preview: whose, and of which pull request. */
  preview_of: string | null;
  preview_number: number | null;
  /** Of a preview: when its pull request changed the last time. */
  preview_seen_at: Date | null;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
  purge_after: Date | null;
  tracer_session_id: string | null;
  delete_tracing_project: boolean;
  /** Of one that a listener runs: where it serves it, and whether it has anything of it. */
  remote_url: string | null;
  remote_held: boolean;
};

/** A listener has it, or is to have it: nothing is done about it here, until the listener has nothing of it any more. */
export function isElsewhere(
  deployment: Pick<Deployment, "source_config" | "deleted_at" | "remote_held">,
): boolean {
  if (deployment.source_config.listener_id === null) return false;
  return deployment.deleted_at === null || deployment.remote_held;
}

/** READY means that it can serve; FAILED, that nothing serves and the latest revision has failed. */
export function deploymentStatus(
  deployment: Pick<Deployment, "database_ready" | "active_revision_id">,
  latest: RevisionStatus | undefined,
): DeploymentStatus {
  if (deployment.active_revision_id !== null) return "READY";
  if (latest !== undefined && failedStatuses.includes(latest)) return "FAILED";
  return deployment.database_ready ? "READY" : "AWAITING_DATABASE";
}

/** Lower case, digits and hyphens, with a piece of the id so that a name given again gets another address. */
export function slugOf(name: string, id: string): string {
  const plain = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40)
    .replace(/-+$/, "");
  return `${plain || "app"}-${id.replaceAll("-", "").slice(-12)}`;
}

/** One Postgres identifier for the database and its owner. */
export function databaseNameOf(id: string): string {
  return `treadle_d_${id.replaceAll("-", "").toLowerCase()}`;
}

export type DeploymentPatch = {
  name?: string | undefined;
  source?: Source | undefined;
  display_name?: string | undefined;
  revision_source?: Source | undefined;
  source_config?: Partial<SourceConfig> | undefined;
  source_revision_config?: Partial<SourceRevisionConfig> | undefined;
  tracked_repo_ref?: string | undefined;
  deployment_tier?: Tier | undefined;
  compute_tier?: string | undefined;
  database_tier?: string | undefined;
  secrets?: { name: string; value: string }[] | undefined;
  secret_references?: SecretReference[] | undefined;
  route_through_gateway?: boolean | undefined;
};

/** Whether a change asks for what its source is now. Others keep the commit that was built last. */
export function asksForSource(patch: DeploymentPatch): boolean {
  const named = Object.values(patch.source_revision_config ?? {});
  return named.some((value) => value !== null && value !== undefined) || patch.revision_source !== undefined;
}

/** Whether a change reaches what runs, and so needs a new revision. */
export function needsRevision(patch: DeploymentPatch, current: SourceConfig): boolean {
  const { resource_spec: spec, ...config } = patch.source_config ?? {};
  return (
    Object.values(patch.source_revision_config ?? {}).some(
      (value) => value !== null && value !== undefined,
    ) ||
    patch.secrets !== undefined ||
    patch.secret_references !== undefined ||
    patch.deployment_tier !== undefined ||
    patch.compute_tier !== undefined ||
    patch.database_tier !== undefined ||
    [config.install_command, config.build_command].some((value) => value !== null && value !== undefined) ||
    (spec !== null && spec !== undefined && !isOnlySleep(spec, current.resource_spec))
  );
}

/** Whether it may sleep is no matter of what runs: awake, 0 means one server as 1 does. */
function isOnlySleep(spec: Record<string, unknown>, current: Record<string, unknown> | null): boolean {
  const awake = ({ min_scale: min, ...others }: Record<string, unknown>) =>
    JSON.stringify(
      Object.entries({ ...others, min_scale: Math.max(1, Number(min ?? 1)) })
        .filter(([, value]) => value !== null && value !== undefined)
        .sort(([one], [other]) => (one < other ? -1 : 1)),
    );
  const isChanged = (spec.min_scale ?? null) !== (current?.min_scale ?? null);
  return isChanged && awake(spec) === awake(current ?? {});
}

export function mergeSourceConfig(current: SourceConfig, patch: Partial<SourceConfig>): SourceConfig {
  const given = Object.entries(patch).filter(([, value]) => value !== undefined && value !== null);
  const merged: SourceConfig = { ...current, ...Object.fromEntries(given) };
  // The namespace is set once: a configuration that names none does not take it away.
  if (merged.listener_config?.k8s_namespace || current.listener_config === null) return merged;
  return { ...merged, listener_config: current.listener_config };
}

export function mergeRevisionConfig(
  current: SourceRevisionConfig,
  patch: Partial<SourceRevisionConfig>,
): SourceRevisionConfig {
  const given = Object.entries(patch).filter(([, value]) => value !== undefined && value !== null);
  return { ...current, ...Object.fromEntries(given) };
}

export const emptyRevisionConfig: SourceRevisionConfig = {
  repo_ref: null,
  graph_config_path: null,
  image_uri: null,
  source_tarball_path: null,
};

/** Where the next revision comes from: as asked, else as the given fields imply, else as the one before. */
export function nextSource(
  before: Source,
  current: SourceConfig,
  { revision_source, source_revision_config: named = {} }: DeploymentPatch,
): Source {
  if (revision_source !== undefined) return revision_source;
  const [ref, archive] = [Boolean(named.repo_ref), Boolean(named.source_tarball_path)];
  if (before === "internal_source" && ref && !archive && current.repo_url !== null) return "github";
  if (before === "github" && archive && !ref) return "internal_source";
  return before;
}

/** Of a revision built from elsewhere only the place of the project file is kept, and the branch that is followed. */
export function nextRevisionConfig(
  current: Pick<Deployment, "source_revision_config" | "tracked_repo_ref">,
  from: { before: Source; source: Source },
  patch: Partial<SourceRevisionConfig>,
): SourceRevisionConfig {
  if (from.source === from.before) return mergeRevisionConfig(current.source_revision_config, patch);
  const kept = {
    ...emptyRevisionConfig,
    graph_config_path: current.source_revision_config.graph_config_path,
    repo_ref: from.source === "github" ? current.tracked_repo_ref : null,
  };
  return mergeRevisionConfig(kept, patch);
}

/** Whether there is enough to build or start from; a deployment may be made first and filled later. */
export function isBuildable(source: Source, config: SourceRevisionConfig): boolean {
  if (source === "github") return true;
  if (source === "internal_source" || source === "internal_template") {
    return config.source_tarball_path !== null;
  }
  return config.image_uri !== null;
}

export function buildConfigOf({
  source_config: config,
  secret_references: references,
}: Pick<Deployment, "source_config" | "secret_references">): BuildConfig {
  return {
    ...(config.listener_config?.k8s_namespace ? { k8s_namespace: config.listener_config.k8s_namespace } : {}),
    ...(references && references.length > 0 ? { secret_references: references } : {}),
    repo_url: config.repo_url,
    integration_id: config.integration_id,
    install_command: config.install_command,
    build_command: config.build_command,
    resource_spec: config.resource_spec,
  };
}
