/** What the process that has the lease on a listener said about itself. */
export type ListenerProcess = { version: string; runtime: string; url: string };

export type Listener = {
  id: string;
  workspace_id: string;
  version: string | null;
  compute_type: string;
  compute_id: string;
  compute_config: Record<string, unknown>;
  /** The database that its deployments are in; null before the first lease. */
  place: string | null;
  /** The process that has the lease, or had it last and did not end it. */
  holder: string | null;
  /** Grows with each lease: what an earlier holder still sends is refused. */
  lease_epoch: number;
  leased_until: Date | null;
  seen_at: Date | null;
  process: ListenerProcess | null;
  /** Up to where its events, log lines and metrics are stored. */
  event_cursor: number;
  log_cursor: number;
  metrics_until: Date | null;
  /** Of the newest report of this lease. */
  report_number: number;
  created_at: Date;
  updated_at: Date;
};

/** `k8s` is what clients of the field send; the others are what else a listener can start servers with. */
export const computeTypes = ["k8s", "docker", "process"] as const;

/** Each request of a listener renews its lease; after that long without one it is away. */
export const leaseMs = 60_000;

export const presenceStates = ["never", "alive", "away"] as const;
export type Presence = { state: (typeof presenceStates)[number]; since: Date | null };

type Seen = Pick<Listener, "seen_at" | "leased_until">;

export function presenceOf({ seen_at: seen, leased_until: until }: Seen, now: Date): Presence {
  if (seen === null) return { state: "never", since: null };
  return { state: until !== null && until > now ? "alive" : "away", since: seen };
}

/** Why nothing changes at a deployment of this listener; null while it is alive. */
export function absenceText(listener: Seen & Pick<Listener, "compute_id">, now: Date): string | null {
  const { state, since } = presenceOf(listener, now);
  if (state === "alive") return null;
  if (state === "never")
    return `The listener ${listener.compute_id} has never connected. Start it with "treadle listener"; the deployment waits for it.`;
  return `The listener ${listener.compute_id} has not reported since ${since!.toISOString()}. Whether it still serves is not known here; changes wait until it is back.`;
}

/** Whether its servers are pods, as far as it is known: by what its process says, once there was one. */
export function isInCluster({ compute_type, process }: Pick<Listener, "compute_type" | "process">): boolean {
  return compute_type === "k8s" && (process === null || process.runtime === "kubernetes");
}

/** Where its deployments may ask to run. */
export function namespacesOf({ compute_config }: Pick<Listener, "compute_config">): string[] {
  const given = compute_config.k8s_namespaces;
  return Array.isArray(given) ? given.filter((name) => typeof name === "string") : [];
}
