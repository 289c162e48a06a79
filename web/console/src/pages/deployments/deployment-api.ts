import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { api, query } from "../../api/client.ts";

export type Secret = { name: string; value: string };
export type HealthState = "none" | "starting" | "serving" | "unstable" | "restarting" | "crash_loop";

export type Deployment = {
  id: string;
  name: string;
  display_name: string | null;
  source: string;
  source_config: {
    repo_url: string | null;
    repo_branch: string | null;
    deployment_type: string | null;
    build_on_push: boolean | null;
    install_command: string | null;
    build_command: string | null;
  };
  source_revision_config: RevisionConfig;
  secrets: Secret[];
  shareable: boolean;
  status: string;
  latest_revision_id: string | null;
  active_revision_id: string | null;
  health: {
    state: HealthState;
    message: string | null;
    attempt: number;
    since: string | null;
    restarts: number;
    last_exit: LastExit | null;
  };
  url: string;
  /** At an origin of its own; null where deployments have none. */
  page_url: string | null;
  tracer_session_id: string | null;
  created_at: string;
  updated_at: string;
};

export type LastExit = { at: string; reason: string };

type RevisionConfig = {
  repo_ref: string | null;
  graph_config_path: string | null;
  image_uri: string | null;
  source_tarball_path: string | null;
  repo_commit_sha: string | null;
};

export type RevisionEvent = {
  id: number;
  kind: string;
  status: string | null;
  message: string;
  created_at: string;
};

export type Revision = {
  id: string;
  deployment_id: string;
  number: number;
  status: string;
  status_message: string | null;
  progress: number;
  source: string;
  source_revision_config: RevisionConfig;
  redeploy_of: string | null;
  /** Null outside of containers. */
  image: { reference: string; digest: string } | null;
  restarts: number;
  last_exit: LastExit | null;
  events: RevisionEvent[];
  created_at: string;
  updated_at: string;
};

export type Page<Resource> = { resources: Resource[]; offset: number };

export const secretMask = "********";
const pageSize = 20;

const open = new Set(["CREATING", "QUEUED", "AWAITING_BUILD", "BUILDING", "AWAITING_DEPLOY", "DEPLOYING"]);

export function isOpen(status: string): boolean {
  return open.has(status);
}

export const deploymentPath = (id: string) => `/v2/deployments/${encodeURIComponent(id)}`;

export function useDeployments(search: string) {
  return useInfiniteQuery({
    queryKey: ["deployments", "list", search],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      api.get<Page<Deployment>>(
        `/v2/deployments${query({ limit: pageSize, offset: pageParam, name_contains: search })}`,
        { signal },
      ),
    getNextPageParam: (last) => (last.resources.length < pageSize ? undefined : last.offset),
  });
}

export function useDeployment(id: string) {
  return useQuery({
    queryKey: ["deployments", id],
    queryFn: ({ signal }) => api.get<Deployment>(deploymentPath(id), { signal }),
  });
}

export function useRevisions(deploymentId: string) {
  return useInfiniteQuery({
    queryKey: ["deployments", deploymentId, "revisions"],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      api.get<Page<Revision>>(
        `${deploymentPath(deploymentId)}/revisions${query({ limit: pageSize, offset: pageParam })}`,
        { signal },
      ),
    getNextPageParam: (last) => (last.resources.length < pageSize ? undefined : last.offset),
  });
}

export function revisionQuery(deploymentId: string, revisionId: string) {
  return {
    queryKey: ["deployments", deploymentId, "revisions", revisionId],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      api.get<Revision>(`${deploymentPath(deploymentId)}/revisions/${encodeURIComponent(revisionId)}`, {
        signal,
      }),
  };
}

export function useRevision(deploymentId: string, revisionId: string) {
  return useQuery(revisionQuery(deploymentId, revisionId));
}

/** The latest revision of each deployment whose latest one does not serve: it is on its way, or failed. */
export function useLatestRevisions(deployments: readonly Deployment[]): ReadonlyMap<string, Revision> {
  const pending = deployments.filter(
    ({ latest_revision_id: latest, active_revision_id: active }) => latest !== null && latest !== active,
  );
  return useQueries({
    queries: pending.map(({ id, latest_revision_id }) => revisionQuery(id, latest_revision_id!)),
    combine: (results) =>
      new Map(results.flatMap(({ data }) => (data ? [[data.deployment_id, data] as const] : []))),
  });
}

/** One word for a deployment, from what serves and from what is on its way. */
export function stateOf(deployment: Deployment, latest: Revision | undefined): string {
  const { health, active_revision_id: active } = deployment;
  if (latest && isOpen(latest.status)) return latest.status;
  if (health.state === "crash_loop") return "crash_loop";
  if (health.state === "restarting" || health.state === "unstable") return health.state;
  if (active !== null) return health.state === "starting" ? "starting" : "serving";
  if (latest) return latest.status;
  return deployment.latest_revision_id === null ? "unused" : "pending";
}
