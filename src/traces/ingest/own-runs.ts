import { AppError } from "../../platform/errors.ts";
import type { IngestService } from "./ingest-service.ts";
import type { SentParts } from "./sent-parts.ts";
import type { RecordedSpan } from "./span-recorder.ts";

/** A run by the wire's names; `post` makes it, `patch` adds to it. */
export type IngestedRun = { kind: "post" | "patch"; record: Record<string, unknown> };

/** Runs of this very process: resolves once all are committed, throws when one of them cannot be. */
export function ingestOwnRuns(
  ingest: IngestService,
  workspaceId: string,
  project: string,
  runs: readonly IngestedRun[],
): Promise<void> {
  const sent = runs.map(({ kind, record }) => ({
    part: String(record.id),
    sent: { kind, record, payloads: {} },
  }));
  return ingestAll(ingest, workspaceId, project, sent);
}

/** The same for spans, whose payloads were written as JSON when they were recorded. */
export function ingestSpans(
  ingest: IngestService,
  workspaceId: string,
  project: string,
  spans: readonly RecordedSpan[],
): Promise<void> {
  const sent = spans.map(({ kind, record, payloads }) => ({
    part: String(record.id),
    sent: { kind, record, payloads: parsedPayloads(payloads) },
  }));
  return ingestAll(ingest, workspaceId, project, sent);
}

function parsedPayloads(payloads: RecordedSpan["payloads"]) {
  return Object.fromEntries(
    Object.entries(payloads).map(([field, bytes]) => [
      field,
      { bytes, value: JSON.parse(bytes.toString("utf8")) as unknown },
    ]),
  );
}

async function ingestAll(
  ingest: IngestService,
  workspaceId: string,
  project: string,
  runs: SentParts["runs"],
): Promise<void> {
  const sent = { runs, attachments: [], feedback: [], errors: [] };
  const { errors } = await ingest.ingest(workspaceId, sent, project);
  if (errors.length === 0) return;
  const message = `${errors.length} runs could not be traced: ${errors[0]!.error}`;
  throw new AppError({
    code: "traces.refused",
    kind: "invalid",
    message,
    detail: { errors: errors.slice(0, 20) },
  });
}
