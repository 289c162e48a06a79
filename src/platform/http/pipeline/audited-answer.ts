import { AppError } from "../../errors.ts";
import {
  type AuditEntry,
  type AuditSink,
  type AuditSpec,
  describe,
  refusalKinds,
  specApplies,
} from "../audit/audit.ts";
import { statusOf } from "../error-response.ts";
import type { Route, RouteRequest, RouteSpec } from "../route.ts";

type Answer = Route["handle"];
/** The handler with its events: what was done is committed to the log before the answer goes out. */
export function auditedAnswer(spec: RouteSpec, answer: Answer, sink: AuditSink | undefined): Answer {
  if (!spec.audit || !sink) return answer;
  const specs: readonly AuditSpec[] = Array.isArray(spec.audit) ? spec.audit : [spec.audit as AuditSpec];
  const readsAnswer = JSON.stringify(specs).includes('"answer.');

  return async (request) => {
    let response: Response;
    try {
      response = await answer(request);
    } catch (error) {
      const isKnown = error instanceof AppError;
      const refused = isKnown && refusalKinds.has(error.kind);
      const errorCode = isKnown ? error.code : "internal";
      const outcome = refused ? "refused" : "failed";
      const [first] = specs;
      sink.noteRefusal({
        ...placeOf(request),
        ...describe(first!, factsOf(request, undefined)),
        outcome,
        status: isKnown ? statusOf(error.kind) : 500,
        errorCode,
      });
      throw error;
    }
    const { status } = response;
    const given = readsAnswer && response.headers.get("content-type")?.startsWith("application/json");
    const facts = factsOf(request, given ? await response.clone().json() : undefined);
    const place = placeOf(request);
    for (const each of specs) {
      if (!specApplies(each, facts)) continue;
      const errorCode = place.note?.refused ?? null;
      const entry: AuditEntry = { ...place, ...describe(each, facts), outcome: "done", status, errorCode };
      if (errorCode !== null) sink.noteRefusal({ ...entry, outcome: "refused" });
      else if (status < 400) await sink.record(entry).catch(unrecorded);
      else sink.noteRefusal({ ...entry, outcome: "failed" });
    }
    return response;
  };
}

function factsOf({ params, query, body }: RouteRequest<RouteSpec>, answer: unknown) {
  return { params, query, body, answer };
}

function placeOf({ request, caller, requestId, remoteAddress, audit }: RouteRequest<RouteSpec>) {
  return {
    caller: caller ?? null,
    note: audit.note,
    peer: remoteAddress,
    headers: request.headers,
    requestId,
  };
}

function unrecorded(cause: unknown): never {
  throw new AppError({
    code: "audit.not_recorded",
    kind: "unavailable",
    message:
      "The audit log could not be written, so the request is reported as failed. The change may have been made: check, then try again.",
    headers: { "retry-after": "5" },
    cause,
  });
}
