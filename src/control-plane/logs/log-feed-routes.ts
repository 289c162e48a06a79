import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { Caller } from "../../platform/http/access/caller.ts";
import { type Route, route } from "../../platform/http/route.ts";
import { type SseFrame, sseResponse } from "../../platform/http/server/sse.ts";
import { id } from "../wire/wire-fields.ts";
import { type LogRow, logLevels } from "./log.ts";
import type { LogService } from "./log-service.ts";
import type { LogQuery } from "./log-store.ts";
import { toLogWire } from "./log-wire.ts";

const pollMs = 400;
const batch = 500;

const query = z.object({
  type: z.enum(["build", "deploy"]).default("deploy"),
  revision_id: id.optional(),
  query: z.string().max(1_000).optional().describe("Only lines with this text."),
  level: z
    .string()
    .transform((text) => text.toUpperCase())
    .pipe(z.enum(logLevels))
    .optional(),
  run_id: z.string().max(200).optional(),
  tail: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000)
    .default(100)
    .describe("The number of earlier lines to start with."),
});

/** Lines as they are written, until the reader leaves. */
export function logFeedRoutes(service: LogService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/deployments/{deployment_id}/logs/stream",
        operationId: "stream_deployment_logs",
        summary: "Follow the logs of a deployment",
        description:
          "Server-sent events `log`, one per line: the last ones, then each new one. A client that reconnects with `Last-Event-ID` misses none.",
        tag: "Logs",
        access: { kind: "workspace", role: "viewer", scope: ["read", "deploy"] },
        params: z.object({ deployment_id: id }),
        query,
        responses: { 200: { description: "The stream", contentType: "text/event-stream" } },
        errors: [404],
      },
      async ({ caller, params, query: asked, request, connection }) => {
        const lines = {
          deploymentId: params.deployment_id,
          revisionId: asked.revision_id,
          kind: asked.type,
          text: asked.query,
          level: asked.level,
          runId: asked.run_id,
        };
        const seen = /^\d{1,15}$/.exec(request.headers.get("last-event-id") ?? "")?.[0];
        const first = await firstLines(readAs(service, caller, request.signal), lines, asked.tail, seen);
        return sseResponse((signal) => follow(readAs(service, caller, signal), lines, first, signal), {
          ...connection,
        });
      },
    ),
  ];
}

type Lines = Omit<LogQuery, "order" | "limit" | "after">;
type First = { rows: LogRow[]; after: number };
type Read = (query: LogQuery) => Promise<LogRow[]>;

function readAs(service: LogService, caller: Caller, signal: AbortSignal): Read {
  return async (query) => (await service.read(caller, query, signal)).rows;
}

/** Before the stream begins, so that what is refused is refused with a status. */
async function firstLines(read: Read, lines: Lines, tail: number, seen: string | undefined): Promise<First> {
  if (seen !== undefined) {
    const rows = await read({ ...lines, order: "asc", limit: batch, after: Number(seen) });
    return { rows, after: rows.at(-1)?.id ?? Number(seen) };
  }
  // The next page begins after the newest line of all, also while no line matches yet.
  const { text: _text, level: _level, runId: _runId, ...all } = lines;
  const [newest] = await read({ ...all, order: "desc", limit: 1 });
  const after = newest?.id ?? 0;
  if (tail === 0 || !newest) return { rows: [], after };
  const rows = await read({ ...lines, order: "desc", limit: tail, after: after + 1 });
  return { rows: rows.reverse(), after };
}

async function* follow(
  read: Read,
  lines: Lines,
  first: First,
  signal: AbortSignal,
): AsyncGenerator<SseFrame[]> {
  let { rows, after } = first;
  for (;;) {
    if (rows.length > 0) yield rows.map(toFrame);
    else await delay(pollMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    rows = await read({ ...lines, order: "asc", limit: batch, after });
    after = rows.at(-1)?.id ?? after;
  }
}

function toFrame(row: LogRow): SseFrame {
  return { event: "log", data: JSON.stringify(toLogWire(row)), id: String(row.id) };
}
