import type { z } from "zod";
import { type Deployment, deploymentStatus } from "../desired-state/deployment.ts";
import type { Revision, SourceRevisionConfig } from "../desired-state/revision.ts";
import { maskSecrets, type Secret } from "../desired-state/secret-rules.ts";
import { maySleep } from "../desired-state/sleep.ts";
import { exitText } from "../runtimes/exit.ts";
import type { Exits } from "../runtimes/exit-store.ts";
import type * as schemas from "./deployment-schemas.ts";
import type { Health } from "./health.ts";

export type DeploymentView = {
  deployment: Deployment;
  latest: Revision | undefined;
  secrets: Secret[];
  url: string;
  runsOn: { kind: string; name: string | null };
  pageUrl: string | null;
  domainUrls: string[];
  health: Health;
};

export function toDeploymentWire(view: DeploymentView): z.input<typeof schemas.deployment> {
  const { deployment, latest } = view;
  const { source_config: config } = deployment;
  return {
    id: deployment.id,
    tenant_id: deployment.workspace_id,
    name: deployment.name,
    display_name: deployment.display_name,
    source: deployment.source,
    source_config: {
      integration_id: config.integration_id,
      repo_url: config.repo_url,
      repo_branch: deployment.tracked_repo_ref,
      deployment_type: config.deployment_type,
      build_on_push: config.build_on_push,
      custom_url: config.custom_url ?? view.url,
      resource_spec: config.resource_spec,
      listener_id: config.listener_id,
      listener_config: config.listener_config,
      install_command: config.install_command,
      build_command: config.build_command,
    },
    source_revision_config: revisionConfigWire(
      latest?.source_revision_config ?? deployment.source_revision_config,
      latest?.repo_commit_sha ?? null,
    ),
    secrets: maskSecrets(view.secrets),
    secret_references: deployment.secret_references,
    shareable: deployment.shareable,
    route_through_gateway: deployment.route_through_gateway,
    status: deploymentStatus(deployment, latest?.status),
    desired_state: deployment.desired_state,
    latest_revision_id: deployment.latest_revision_id,
    latest_revision_status: latest?.status ?? null,
    active_revision_id: deployment.active_revision_id,
    url: view.url,
    runs_on: view.runsOn,
    page_url: view.pageUrl,
    domain_urls: view.domainUrls,
    health: healthWire(view.health),
    sleep: {
      state: deployment.sleep_state,
      allowed: maySleep(deployment),
      since: deployment.sleep_changed_at?.toISOString() ?? null,
      wakes_at: deployment.wake_at?.toISOString() ?? null,
    },
    slug: deployment.slug,
    tracked_repo_ref: deployment.tracked_repo_ref,
    tracer_session_id: deployment.tracer_session_id,
    is_preview: deployment.preview_of !== null,
    preview_of: deployment.preview_of,
    preview_number: deployment.preview_number,
    previews: { enabled: deployment.previews, share_secrets: deployment.previews_share_secrets },
    image_version: null,
    deployment_tier: deployment.deployment_tier,
    compute_tier: deployment.compute_tier,
    database_tier: deployment.database_tier,
    created_at: deployment.created_at.toISOString(),
    updated_at: deployment.updated_at.toISOString(),
  };
}

function healthWire({ exits, since, ...health }: Health): z.input<typeof schemas.deployment>["health"] {
  return { ...health, since: since?.toISOString() ?? null, ...exitsWire(exits) };
}

export function exitsWire({ restarts, last }: Exits) {
  return {
    restarts,
    last_exit: last && { at: last.at.toISOString(), kind: last.exit.kind, reason: exitText(last.exit) },
  };
}

export function revisionConfigWire(
  config: SourceRevisionConfig,
  commitSha: string | null,
): z.input<typeof schemas.sourceRevisionConfig> {
  return {
    repo_ref: config.repo_ref,
    graph_config_path: config.graph_config_path,
    langgraph_config_path: config.graph_config_path,
    image_uri: config.image_uri,
    source_tarball_path: config.source_tarball_path,
    repo_commit_sha: commitSha,
  };
}
