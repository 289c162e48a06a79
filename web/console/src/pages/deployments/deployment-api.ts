import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { api, query } from "../../api/client.ts";
import type { Answers, Deployment, Revision } from "../../api/wire.ts";

export type { Deployment, Revision, RevisionEvent } from "../../api/wire.ts";
export type Secret = Deployment["secrets"][number];
export type HealthState = Deployment["health"]["state"];

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
      api.get<Answers["list_deployments"]>(
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

/** Of its pull requests. They are named after it, which finds them among many; a deployment has ten at most. */
export function usePreviews({ id, name }: Deployment) {
  return useQuery({
    queryKey: ["deployments", "previews", id],
    queryFn: async ({ signal }) => {
      const named = query({ limit: 100, name_contains: `${name.slice(0, 70)}-pr-` });
      const { resources } = await api.get<Answers["list_deployments"]>(`/v2/deployments${named}`, { signal });
      return resources
        .filter(({ preview_of: parent }) => parent === id)
        .sort((one, other) => (one.preview_number ?? 0) - (other.preview_number ?? 0));
    },
  });
}

export function useRevisions(deploymentId: string) {
  return useInfiniteQuery({
    queryKey: ["deployments", deploymentId, "revisions"],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      api.get<Answers["list_revisions"]>(
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

/** Its code was uploaded: a change of it comes as another upload. */
export function isUploaded({
  source,
  source_revision_config: revision,
}: Pick<Deployment, "source" | "source_revision_config">): boolean {
  return revision.source_tarball_path !== null || source === "internal_source";
}

/** No revision of it has served yet: whatever leads to its server leads nowhere. */
export function neverServed({ active_revision_id: active }: Pick<Deployment, "active_revision_id">): boolean {
  return active === null;
}

/** Its server takes requests that come from here, now. One that sleeps would be woken; that of a listener is elsewhere. */
export function isReachable(deployment: Deployment): boolean {
  const { health, desired_state: wanted, source_config: config } = deployment;
  if (neverServed(deployment) || wanted === "stopped" || config.listener_id !== null) return false;
  return !isAtRest(deployment) && health.state !== "crash_loop";
}

/** Asleep, or on its way back. What is asked of its server now would wake it. */
export function isAtRest({ health }: Pick<Deployment, "health">): boolean {
  return health.state === "asleep" || health.state === "waking";
}

/** One word for a deployment, from what serves and from what is on its way. */
export function stateOf(deployment: Deployment, latest: Revision | undefined): string {
  const { health, active_revision_id: active } = deployment;
  if (health.state === "stopped" || health.state === "away") return health.state;
  if (latest && isOpen(latest.status)) return latest.status;
  if (health.state === "crash_loop") return "crash_loop";
  if (health.state === "restarting" || health.state === "unstable") return health.state;
  if (isAtRest(deployment)) return health.state;
  if (active !== null) return health.state === "starting" ? "starting" : "serving";
  if (latest) return latest.status;
  return deployment.latest_revision_id === null ? "unused" : "pending";
}
