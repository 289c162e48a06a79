import { errorMessage } from "../../platform/errors.ts";
import type { Ingested, IngestService } from "../ingest/ingest-service.ts";
import type { SentParts } from "../ingest/sent-parts.ts";
import type { RunWriting } from "../storage/run-storage.ts";
import { RefusedPart } from "../wire/refused-part.ts";
import { spanToRun, spanTree, spanUuid, traceIdOf } from "./otlp-run.ts";
import type { OtlpSpan } from "./otlp-span.ts";

export type OtlpServiceOptions = { ingest: IngestService; writing: RunWriting };

/** Spans of OpenTelemetry, written as runs. */
export class OtlpService {
  readonly #ingest: IngestService;
  readonly #writing: RunWriting;

  constructor(options: OtlpServiceOptions) {
    this.#ingest = options.ingest;
    this.#writing = options.writing;
  }

  async ingest(
    workspaceId: string,
    spans: readonly OtlpSpan[],
    project: string | undefined,
    onlyProject?: string,
  ): Promise<Ingested> {
    const sent: SentParts = { runs: [], attachments: [], feedback: [], errors: [] };
    const good: OtlpSpan[] = [];
    const attempt = (span: OtlpSpan, work: () => void) => {
      try {
        work();
      } catch (error) {
        if (!(error instanceof RefusedPart)) throw error;
        sent.errors.push({ part: span.spanId.slice(0, 64), error: errorMessage(error) });
      }
    };
    for (const span of spans) {
      attempt(span, () => {
        traceIdOf(span);
        spanUuid(span.spanId);
        if (span.parentSpanId !== "") spanUuid(span.parentSpanId);
        good.push(span);
      });
    }
    const tree = spanTree(good);
    const traceIds = [...new Set(good.map(traceIdOf))];
    const roots = await this.#writing.findRootSpans(workspaceId, traceIds);
    for (const span of good) {
      attempt(span, () => {
        const run = spanToRun(span, tree, (traceId, parent) =>
          roots.get(traceId) === parent ? traceId : undefined,
        );
        sent.runs.push({ part: span.spanId, sent: run });
      });
    }
    const result = await this.#ingest.ingest(workspaceId, sent, project, onlyProject);
    await this.#relink(workspaceId, traceIds);
    return result;
  }

  /**
   * Exporters send children before their root, and the parts of a long trace in several requests, also at once:
   * only after this request's own spans are stored does a look at the roots show which of them are there.
   */
  async #relink(workspaceId: string, traceIds: readonly string[]): Promise<void> {
    const stored = await this.#writing.findRootSpans(workspaceId, traceIds);
    if (stored.size === 0) return;
    const roots = [...stored].map(([traceId, spanId]) => ({ traceId, spanRunId: spanUuid(spanId) }));
    await this.#writing.relink(workspaceId, roots);
  }
}
