import type { Failure } from "../desired-state/failure.ts";
import type { Revision, RevisionEvent } from "../desired-state/revision.ts";
import { mostMeasured, mostOf, type Report } from "../listener-api/listener-wire.ts";
import { cut, type LogRow } from "../logs/log.ts";
import type { ToldInstance, ToldMetric } from "./report-source-store.ts";

/** Rows of this place as a report has them: every text no longer than the platform takes it. */

/** A figure that the platform takes: one that is wrong stops no report. */
const within = (figure: number, most: number) => (figure > 0 ? Math.min(figure, most) : 0);
/** Programs write the times of their lines themselves. */
const [firstMoment, lastMoment] = [0, Date.parse("9999-12-31T23:59:59.999Z")];
const momentWire = (at: Date) =>
  new Date(Math.min(Math.max(at.getTime(), firstMoment), lastMoment)).toISOString();
const cutOrNull = (text: string | null, most: number) => (text === null ? null : cut(text, most));

export function revisionWire(row: Revision): Report["revisions"][number] {
  return {
    id: row.id,
    status: row.status,
    status_message: cutOrNull(row.status_message, mostOf.statusMessage),
    condition: row.condition,
    failure: row.failure && failureWire(row.failure),
    progress: row.progress,
    repo_commit_sha: cutOrNull(row.repo_commit_sha, mostOf.commit),
    uses_own_auth: row.uses_own_auth,
    image_reference: cutOrNull(row.image_reference, mostOf.imageReference),
    image_digest: cutOrNull(row.image_digest, mostOf.imageDigest),
  };
}

function failureWire({ file, line, column, reason, output }: Failure): Failure {
  return {
    ...{ line, column },
    file: cutOrNull(file, mostOf.file),
    reason: cut(reason, mostOf.reason),
    output: output.slice(0, mostOf.outputLines).map((each) => cut(each, mostOf.outputLine)),
  };
}

export function instanceWire(row: ToldInstance): Report["instances"][number] {
  return {
    id: row.id,
    deployment_id: row.deployment_id,
    revision_id: row.revision_id,
    state: row.state,
    attempt: row.attempt,
    tracing_key_id: row.tracing_key_id,
    started_at: row.started_at.toISOString(),
    ready_at: row.ready_at?.toISOString() ?? null,
    drain_since: row.drain_since?.toISOString() ?? null,
    stop_since: row.stop_since?.toISOString() ?? null,
    exited_at: row.exited_at?.toISOString() ?? null,
    exit_kind: row.exit_kind,
    exit_detail: cutOrNull(row.exit_detail, mostOf.exitDetail),
    lost_pods: row.has_lost_pods,
  };
}

export function eventWire(row: RevisionEvent): Report["events"]["items"][number] {
  return {
    revision_id: row.revision_id,
    kind: cut(row.kind, mostOf.eventKind),
    status: row.status,
    message: cut(row.message, mostOf.eventMessage),
    created_at: row.created_at.toISOString(),
  };
}

export function lineWire(row: LogRow & { deployment_id: string }): Report["logs"]["items"][number] {
  const { deployment_id, revision_id, kind, level, origin } = row;
  return {
    ...{ deployment_id, revision_id, kind, level, origin },
    at: momentWire(row.at),
    message: cut(row.message, mostOf.logMessage),
    run_id: cutOrNull(row.run_id, mostOf.runId),
  };
}

export function metricWire({ at, ...row }: ToldMetric): Report["metrics"]["items"][number] {
  const { deployment_id, requests, errors } = row;
  return {
    ...{ deployment_id, at: at.toISOString(), requests, errors },
    cpu: row.cpu === null ? null : within(row.cpu, mostMeasured.cpu),
    memory_bytes: row.memory_bytes === null ? null : within(row.memory_bytes, mostMeasured.memoryBytes),
    busy_ms: within(row.busy_ms, mostMeasured.busyMs),
  };
}
