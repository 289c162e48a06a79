import { z } from "zod";
import { AppError, type ValidationIssue } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { payloadFields } from "../runs/run-change.ts";
import { sends } from "../wire/access.ts";
import { parseExactly, parseObjectPart } from "../wire/json-text.ts";
import { boundaryOf, parseMultipart } from "../wire/multipart.ts";
import { otherProject, RefusedPart } from "../wire/refused-part.ts";
import { maxSentBytes, readIngestBody } from "../wire/request-body.ts";
import type { Ingested, IngestService } from "./ingest-service.ts";
import type { SentRun } from "./read-run.ts";
import { readParts, type SentParts } from "./sent-parts.ts";

const tag = "Tracing";
const accepted = z.object({
  message: z.string(),
  errors: z.array(z.object({ part: z.string(), error: z.string() })).optional(),
});
const responses = {
  202: { description: "Everything that is not named in `errors` is stored", schema: accepted },
};
const ingestion = {
  tag,
  access: sends,
  rawBody: true,
  maxBodyBytes: maxSentBytes,
  responses,
  errors: [400, 413, 415, 429, 503, 507],
};

export function ingestRoutes(service: IngestService): Route[] {
  const keep = async ({ workspaceId, tracingProject }: Caller, sent: SentParts) =>
    answer(await service.ingest(workspaceId, sent, undefined, tracingProject));
  return [
    route(
      {
        ...ingestion,
        method: "post",
        path: "/api/v1/runs/multipart",
        operationId: "ingest_runs_multipart",
        summary: "Send runs, their payloads, attachments and feedback as parts of one body",
        description:
          "Parts: `post.<run id>` and `patch.<run id>`, each with optional `.inputs`, `.outputs`, `.events`, `.extra`, " +
          "`.error`, `.serialized`; `attachment.<run id>.<name>`; `feedback.<id>`. gzip, zstd and chunked bodies are accepted. " +
          "`errors` names the parts that cannot be stored; the others are stored.",
      },
      async ({ request, caller }) => {
        const boundary = boundaryOf(request.headers.get("content-type"));
        const parts = readParts(parseMultipart(await readIngestBody(request), boundary));
        return keep(caller, parts);
      },
    ),
    route(
      {
        ...ingestion,
        method: "post",
        path: "/api/v1/runs/batch",
        operationId: "ingest_runs_batch",
        summary: "Send runs as JSON",
        description:
          "`{post: [run], patch: [run]}`. `errors` names the runs that cannot be stored; the others are stored.",
      },
      async ({ request, caller }) => {
        const { value: body, exact } = await readObject(request);
        const sent: SentParts = { runs: [], attachments: [], feedback: [], errors: [] };
        for (const kind of ["post", "patch"] as const) {
          const list = body[kind] ?? [];
          if (!Array.isArray(list))
            throw invalid([{ loc: ["body", kind], msg: "must be a list of runs", type: "list_type" }]);
          for (const [index, record] of list.entries()) {
            const part = `${kind}.${index}`;
            const payloads = exactPayloads(exact?.[kind], index, record);
            if (isObject(record)) sent.runs.push({ part, sent: { kind, record, payloads } });
            else sent.errors.push({ part, error: "It must be a JSON object." });
          }
        }
        return keep(caller, sent);
      },
    ),
    route(
      {
        ...ingestion,
        method: "post",
        path: "/api/v1/runs",
        operationId: "create_run_trace",
        summary: "Send one run",
      },
      async ({ request, caller }) => {
        const read = await readObject(request);
        return keep(caller, single("post", read));
      },
    ),
    route(
      {
        ...ingestion,
        method: "patch",
        path: "/api/v1/runs/{run_id}",
        operationId: "update_run_trace",
        summary: "Send more of a run",
        description: "A patch for a run that has not arrived yet is kept until it does.",
        params: z.object({ run_id: z.string() }),
      },
      async ({ request, caller, params }) => {
        const read = await readObject(request);
        return keep(caller, single("patch", read, params.run_id));
      },
    ),
  ];
}

function single(kind: "post" | "patch", { value: record, exact }: ReadObject, id?: string): SentParts {
  const payloads = exactPayloads([exact], 0, record);
  const sent = { kind, record, payloads, ...(id === undefined ? {} : { id }) };
  return { runs: [{ part: "run", sent }], attachments: [], feedback: [], errors: [] };
}

/** Payloads as they were written, where parsing them would round a number. */
function exactPayloads(list: unknown, index: number, record: unknown): SentRun["payloads"] {
  const exact = Array.isArray(list) ? (list[index] as unknown) : undefined;
  const payloads: SentRun["payloads"] = {};
  if (!isObject(exact) || !isObject(record)) return payloads;
  for (const field of payloadFields) {
    if (exact[field] === undefined || exact[field] === null) continue;
    payloads[field] = { bytes: Buffer.from(JSON.stringify(exact[field])), value: record[field] };
  }
  return payloads;
}

function answer(result: Ingested): Response {
  const { kept } = result;
  if (kept === 0) refuseForbidden(result);
  const errors = result.errors.map(({ part, error }) => ({ part, error }));
  if (kept === 0 && errors.length > 0) {
    throw invalid(
      errors.map(({ part, error }) => ({ loc: ["body", part], msg: error, type: "value_error" })),
    );
  }
  return json(202, { message: "Runs ingested", ...(errors.length > 0 && { errors }) });
}

/** Where nothing was kept because the credential may not write there, that is the answer. */
export function refuseForbidden({ errors }: Ingested): void {
  if (errors.length > 0 && errors.every((each) => each.forbidden)) throw otherProject(errors[0]!.error);
}

/** `exact` is there when the text holds numbers that would be rounded. */
type ReadObject = { value: Record<string, unknown>; exact?: Record<string, unknown> | undefined };

async function readObject(request: Request): Promise<ReadObject> {
  const bytes = await readIngestBody(request);
  try {
    const value = parseObjectPart(bytes);
    return { value, exact: parseExactly(bytes) as ReadObject["exact"] };
  } catch (error) {
    if (error instanceof RefusedPart)
      throw invalid([{ loc: ["body"], msg: error.message, type: "json_invalid" }]);
    throw error;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(issues: ValidationIssue[]): AppError {
  return new AppError({
    code: "request.invalid",
    kind: "unprocessable",
    message: issues[0]?.msg ?? "Nothing in the body could be stored.",
    issues,
  });
}
