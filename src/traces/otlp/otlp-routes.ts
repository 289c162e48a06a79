import { AppError } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { refuseForbidden } from "../ingest/ingest-routes.ts";
import type { Ingested } from "../ingest/ingest-service.ts";
import { sends } from "../wire/access.ts";
import { parsePart } from "../wire/json-text.ts";
import { RefusedPart } from "../wire/refused-part.ts";
import { maxSentBytes, readIngestBody } from "../wire/request-body.ts";
import { readOtlpJson } from "./otlp-json.ts";
import { readOtlpProtobuf } from "./otlp-protobuf.ts";
import type { OtlpService } from "./otlp-service.ts";
import type { OtlpSpan } from "./otlp-span.ts";

const protobufTypes = new Set(["application/x-protobuf", "application/protobuf"]);

export function otlpRoutes(service: OtlpService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/api/v1/otel/v1/traces",
        operationId: "ingest_otlp_traces",
        summary: "Send spans by OTLP/HTTP",
        description:
          "JSON or protobuf. The header `Langsmith-Project` names the project. Attributes of the GenAI, OpenInference, " +
          "Traceloop and Logfire conventions become inputs, outputs, usage and metadata of runs.",
        tag: "Tracing",
        access: sends,
        rawBody: true,
        maxBodyBytes: maxSentBytes,
        responses: {
          200: {
            description: "Every span that is not counted as rejected is stored",
            contentType: "application/json",
          },
        },
        errors: [400, 413, 415, 429, 503, 507],
      },
      async ({ request, caller }) => {
        const { headers } = request;
        const type =
          headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "application/json";
        const isProtobuf = protobufTypes.has(type);
        if (!isProtobuf && type !== "application/json") throw unknownType(type);
        const spans = read(await readIngestBody(request), isProtobuf);
        const result = await service.ingest(
          caller.workspaceId,
          spans,
          headers.get("langsmith-project") ?? undefined,
          caller.tracingProject,
        );
        if (result.kept === 0) refuseForbidden(result);
        return isProtobuf ? protobufAnswer(result) : json(200, { partialSuccess: partial(result) });
      },
    ),
  ];
}

function read(body: Buffer, isProtobuf: boolean): OtlpSpan[] {
  try {
    return isProtobuf ? readOtlpProtobuf(body) : readOtlpJson(parsePart(body));
  } catch (error) {
    if (!(error instanceof RefusedPart)) throw error;
    throw new AppError({ code: "traces.bad_otlp", kind: "invalid", message: error.message });
  }
}

function partial({ errors }: Ingested): { rejectedSpans?: string; errorMessage?: string } {
  if (errors.length === 0) return {};
  const named = errors.slice(0, 5).map(({ part, error }) => `${part}: ${error}`);
  return { rejectedSpans: String(errors.length), errorMessage: named.join(" ") };
}

/** `partial_success` = 1 with `rejected_spans` = 1 and `error_message` = 2; nothing at all when all went well. */
function protobufAnswer(result: Ingested): Response {
  const { errorMessage } = partial(result);
  const headers = { "content-type": "application/x-protobuf" };
  if (errorMessage === undefined) return new Response(new Uint8Array(), { headers });
  const text = Buffer.from(errorMessage);
  const inner = Buffer.concat([
    Buffer.from([0x08]),
    varint(result.errors.length),
    Buffer.from([0x12]),
    varint(text.length),
    text,
  ]);
  return new Response(new Uint8Array(Buffer.concat([Buffer.from([0x0a]), varint(inner.length), inner])), {
    headers,
  });
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

function unknownType(type: string): AppError {
  return new AppError({
    code: "traces.unknown_otlp_type",
    kind: "unsupported_media_type",
    message: `OTLP must be application/json or application/x-protobuf, not "${type.slice(0, 80)}".`,
  });
}
