import { Readable } from "node:stream";
import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { id } from "../wire/wire-fields.ts";
import type { ListenerLeases } from "./lease-service.ts";
import type { ListenerService } from "./listener-service.ts";
import * as wire from "./listener-wire.ts";
import type { ListenerReports } from "./report-service.ts";

const tag = "Listeners (v2)";
const params = z.object({ listener_id: id });
const revisionParams = params.extend({ revision_id: id });
const access = { kind: "workspace", role: "editor", scope: "listener", namedByKey: true } as const;
const maxReportBytes = 64 * 1024 * 1024;

export type ListenerApiOptions = {
  leases: ListenerLeases;
  service: ListenerService;
  reports: ListenerReports;
};

/** For the processes of listeners, by keys that name the scope `listener`, and the epoch of their lease. */
export function listenerApiRoutes(options: ListenerApiOptions): Route[] {
  return [...leaseRoutes(options), ...stateRoutes(options), ...revisionRoutes(options)];
}

function leaseRoutes({ leases }: ListenerApiOptions): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/v2/listeners/{listener_id}/lease",
        operationId: "take_listener_lease",
        summary: "Act for a listener",
        description:
          "Of several processes one acts. Every request of it renews the lease; another one may take it a minute after the last.",
        tag,
        access,
        params,
        body: wire.leaseRequest,
        responses: { 200: { description: "The lease", schema: wire.lease } },
        errors: [404, 409],
      },
      async ({ caller, params, body }) => json(200, await leases.take(caller, params.listener_id, body)),
    ),
    route(
      {
        method: "post",
        path: "/v2/listeners/{listener_id}/lease/end",
        operationId: "end_listener_lease",
        summary: "Stop acting for a listener",
        tag,
        access,
        params,
        body: wire.endRequest,
        responses: { 204: { description: "Ended" } },
        errors: [404, 409],
      },
      async ({ caller, params, body }) => {
        await leases.end(caller, params.listener_id, body.epoch);
        return noContent();
      },
    ),
  ];
}

function stateRoutes({ service, reports }: ListenerApiOptions): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/v2/listeners/{listener_id}/poll",
        operationId: "poll_listener",
        summary: "What a listener is to run",
        description: "Answers as soon as it is another than the known one, or 204 after the wait.",
        tag,
        access,
        params,
        body: wire.pollRequest,
        responses: {
          200: { description: "All of its deployments", schema: wire.wantedState },
          204: { description: "Nothing has changed" },
        },
        errors: [404, 409],
      },
      async ({ caller, params, body, request, shutdown }) => {
        const asked = { epoch: body.epoch, known: body.known ?? null, waitMs: body.wait_seconds * 1000 };
        const signal = AbortSignal.any([request.signal, shutdown]);
        const wanted = await service.poll(caller, params.listener_id, asked, signal);
        return wanted ? json(200, wanted) : noContent();
      },
    ),
    route(
      {
        method: "post",
        path: "/v2/listeners/{listener_id}/reports",
        operationId: "report_of_listener",
        summary: "Report what a listener has done",
        tag,
        access,
        params,
        body: wire.report,
        maxBodyBytes: maxReportBytes,
        responses: { 200: { description: "Stored up to here", schema: wire.reported } },
        errors: [404, 409],
      },
      async ({ caller, params, body }) => json(200, await reports.store(caller, params.listener_id, body)),
    ),
    route(
      {
        method: "post",
        path: "/v2/listeners/{listener_id}/callers",
        operationId: "recognise_caller",
        summary: "Whose credential a deployment was called with",
        description: "So that the workspace's own keys open its deployments at the listener.",
        tag,
        access,
        params,
        body: wire.callerRequest,
        responses: { 200: { description: "Who it is", schema: wire.recognised } },
        errors: [404, 409],
      },
      async ({ caller, params, body }) => {
        const headers = new Headers();
        if (body.api_key !== null) headers.set("x-api-key", body.api_key);
        if (body.authorization !== null) headers.set("authorization", body.authorization);
        if (body.tenant_id !== null) headers.set("x-tenant-id", body.tenant_id);
        return json(200, await service.recognise(caller, params.listener_id, headers));
      },
    ),
  ];
}

function revisionRoutes({ service }: ListenerApiOptions): Route[] {
  const target = { kind: "revision", id: "params.revision_id" } as const;
  const details = { listener_id: "params.listener_id" } as const;
  return [
    route(
      {
        method: "post",
        path: "/v2/listeners/{listener_id}/revisions/{revision_id}/secrets",
        operationId: "give_revision_secrets",
        summary: "The secrets of a revision, for the listener that runs it",
        tag,
        access,
        audit: { action: "listener.secrets_given", target, details },
        params: revisionParams,
        body: wire.secretsRequest,
        responses: { 200: { description: "The secrets", schema: wire.revisionSecrets } },
        errors: [404, 409],
      },
      async ({ caller, params, body }) =>
        json(200, await service.secretsOf(caller, params.listener_id, params.revision_id, body.epoch)),
    ),
    route(
      {
        method: "post",
        path: "/v2/listeners/{listener_id}/revisions/{revision_id}/source",
        operationId: "give_revision_source",
        summary: "Where the source of a revision is, and with what it may be read",
        tag,
        access,
        audit: { action: "listener.source_given", target, details },
        params: revisionParams,
        body: wire.sourceRequest,
        responses: { 200: { description: "The source", schema: wire.revisionSource } },
        errors: [404, 409],
      },
      async ({ caller, params, body, request }) => {
        const asked = { revisionId: params.revision_id, epoch: body.epoch };
        return json(200, await service.sourceOf(caller, params.listener_id, asked, request.signal));
      },
    ),
    route(
      {
        method: "get",
        path: "/v2/listeners/{listener_id}/revisions/{revision_id}/archive",
        operationId: "read_revision_archive",
        summary: "The uploaded source of a revision",
        tag,
        access,
        params: revisionParams,
        query: z.object({ epoch: z.coerce.number().int().min(0) }),
        responses: { 200: { description: "A .tar.gz", contentType: "application/gzip" } },
        errors: [404, 409],
      },
      async ({ caller, params, query, request }) => {
        const asked = { revisionId: params.revision_id, epoch: query.epoch };
        const stream = await service.archiveOf(caller, params.listener_id, asked, request.signal);
        const body = Readable.toWeb(stream) as ReadableStream<Uint8Array>;
        return new Response(body, {
          headers: { "content-type": "application/gzip", "cache-control": "no-store" },
        });
      },
    ),
  ];
}
