import { isCrashLoop } from "../deployments/health.ts";
import { exitOf, exitText, isInnocent } from "../runtimes/exit.ts";
import type { TargetRow } from "./target-store.ts";

export type Target = {
  deploymentId: string;
  workspaceId: string;
  usesOwnAuth: boolean;
  /** Null with the reason when nothing serves. */
  instance: { id: string; port: number; secret: string | null } | null;
  reason: string;
  /** Somebody stopped it: a retry soon would not help. */
  stopped: boolean;
};

export type OpenSecret = (instanceId: string, sealed: string) => string;

export function targetOf(row: TargetRow, openSecret: OpenSecret): Target {
  const stopped = row.desired_state === "stopped";
  const serves = !stopped && (row.instance_state === "ready" || row.instance_state === "draining");
  const { secret_sealed: sealed } = row;
  const instanceOf = (id: string, port: number) => ({
    id,
    port,
    secret: sealed === null ? null : openSecret(id, sealed),
  });
  return {
    deploymentId: row.deployment_id,
    workspaceId: row.workspace_id,
    usesOwnAuth: row.uses_own_auth ?? false,
    instance: serves && row.instance_id && row.port ? instanceOf(row.instance_id, row.port) : null,
    reason: reasonOf(row),
    stopped,
  };
}

function reasonOf(row: TargetRow): string {
  const who = `The deployment ${row.name}`;
  if (row.desired_state === "stopped")
    return `${who} is stopped. Start it on its page in the console, with \`treadle deployments start\`, or with POST /v2/deployments/${row.deployment_id}/start.`;
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
