import { isCrashLoop } from "../deployments/health.ts";
import type { SleepState } from "../desired-state/sleep.ts";
import { authorityOf, type Endpoint, endpointsOf } from "../endpoints/endpoint.ts";
import { exitOf, exitText, isInnocent } from "../runtimes/exit.ts";
import type { TargetRow } from "./target-store.ts";

/** A server that takes requests, at one place or at several. */
export type Server = {
  id: string;
  /** What it calls itself by; it may be reached at others. */
  port: number;
  secret: string | null;
  endpoints: readonly ServerEndpoint[];
};

export type ServerEndpoint = {
  /** Identifies this address, even if another server listens there later. */
  key: string;
  instanceId: string;
  name: string;
  host: string;
  port: number;
};

export type Target = {
  deploymentId: string;
  workspaceId: string;
  name: string;
  usesOwnAuth: boolean;
  /** Null with the reason when nothing serves. */
  instance: Server | null;
  reason: string;
  /** A user stopped it: a retry soon would not help. */
  stopped: boolean;
  /** Nothing serves because it sleeps: it has to be woken, or is waking. */
  rests: "no" | "asleep" | "waking";
  /** A listener runs it at an address of its own. This gateway does not reach it. */
  elsewhere: boolean;
};

export type OpenSecret = (instanceId: string, sealed: string) => string;

export function targetOf(row: TargetRow, openSecret: OpenSecret): Target {
  const stopped = row.desired_state === "stopped";
  const rests = stopped ? "no" : restOf(row.sleep_state);
  // One that is about to be stopped takes no more, even while it still could.
  const serves =
    !stopped &&
    rests !== "asleep" &&
    (row.instance_state === "ready" || (rests === "no" && row.instance_state === "draining"));
  const { secret_sealed: sealed } = row;
  const serverOf = (id: string, port: number): Server | null => {
    const known = row.endpoints ?? [];
    const endpoints = readyEndpoints(id, mayBeHere(row.runtime) ? endpointsOf(known, port) : known);
    const secret = sealed === null ? null : openSecret(id, sealed);
    return endpoints.length === 0 ? null : { id, port, secret, endpoints };
  };
  return {
    deploymentId: row.deployment_id,
    workspaceId: row.workspace_id,
    name: row.name,
    usesOwnAuth: row.uses_own_auth ?? false,
    instance: serves && row.instance_id && row.port ? serverOf(row.instance_id, row.port) : null,
    reason: reasonOf(row),
    stopped,
    rests,
    elsewhere: row.listener !== null,
  };
}

function restOf(state: SleepState): Target["rests"] {
  if (state === "awake") return "no";
  return state === "waking" ? "waking" : "asleep";
}

/** Runtimes of versions that wrote no endpoints down. A server of any other without one is at no place that is known. */
function mayBeHere(runtime: string | null): boolean {
  return runtime === "process" || runtime === "docker";
}

export function readyEndpoints(instanceId: string, endpoints: readonly Endpoint[]): ServerEndpoint[] {
  return endpoints
    .filter(({ ready }) => ready)
    .map(({ name, host, port }) => {
      const key = `${instanceId} ${authorityOf({ host, port })}`;
      return { key, instanceId, name, host, port };
    });
}

function reasonOf(row: TargetRow): string {
  const who = `The deployment ${row.name}`;
  if (row.listener !== null) {
    const place = row.remote_url === null ? "It is not served yet" : `Its address is ${row.remote_url}`;
    return `${who} is run by the listener ${row.listener}. ${place}; this server does not pass requests on to it.`;
  }
  if (row.desired_state === "stopped")
    return `${who} is stopped. Start it on its page in the console, with \`treadle deployments start\`, or with POST /v2/deployments/${row.deployment_id}/start.`;
  if (row.sleep_state === "waking") return `${who} is waking up. Try again in a moment.`;
  if (row.sleep_state !== "awake") return `${who} is asleep. A request over HTTP wakes it.`;
  if (row.latest_number === null) return `${who} has no revision yet. Give it a source with PATCH.`;
  if (row.active_number === null) {
    return `${who} does not serve yet: its revision ${row.latest_number} is ${row.latest_status}.`;
  }
  const exit = exitOf(row);
  if (isCrashLoop(row)) {
    const how = exit ? ` (${exitText(exit)})` : "";
    return `The server of ${row.name} (revision ${row.active_number}) keeps ending${how}: it is in a crash loop and is restarted at growing intervals. See its log for the reason; deploy a revision that works, or an earlier one.`;
  }
  if (row.instance_state === "starting") return `${who} is starting. Try again in a moment.`;
  const why = exit && !isInnocent(exit.kind) ? ` It ended: ${exitText(exit)}.` : "";
  return `The server of ${row.name} (revision ${row.active_number}) is not running; it is being started again.${why}`;
}
