import { Readable } from "node:stream";
import { z } from "zod";
import { json, noContent, type Route, route } from "../../../platform/http/route.ts";
import { id } from "../../wire/wire-fields.ts";
import { buildFailure, buildLines, buildWork } from "./build-pod.ts";
import { BuildPodService, type BuildPodServiceOptions } from "./build-pod-service.ts";

type BuildPodRouteOptions = BuildPodServiceOptions & {
  /** Of what may be built; what is packed is hardly ever larger. */
  maxBytes: number;
};

const maxReportBytes = 24 * 1024 * 1024;
const params = z.object({ build_id: id });
const shape = { tag: "Deployments", access: { kind: "open" }, hidden: true, params } as const;

/** For the pods of builds alone. */
export function buildPodRoutes(options: BuildPodRouteOptions): Route[] {
  const service = new BuildPodService(options);
  return [...readingRoutes(service), ...reportRoutes(service, options)];
}

function readingRoutes(service: BuildPodService): Route[] {
  return [
    route(
      {
        ...{ ...shape, method: "get", path: "/internal/builds/{build_id}", operationId: "read_build" },
        summary: "What a build has to do",
        responses: { 200: { description: "The work", schema: buildWork } },
      },
      async ({ params, request }) => {
        const { work } = await service.require(params.build_id, request.headers);
        return json(200, buildWork.parse(work));
      },
    ),
    route(
      {
        ...{ ...shape, method: "get", path: "/internal/builds/{build_id}/source" },
        ...{ operationId: "read_build_source", summary: "The source of a build" },
        responses: { 200: { description: "A .tar.zst" } },
      },
      async ({ params, request }) => {
        const pod = await service.require(params.build_id, request.headers);
        const source = await service.source(pod, request.signal);
        return new Response(Readable.toWeb(source) as ReadableStream<Uint8Array>, {
          headers: { "content-type": "application/zstd", "cache-control": "no-store" },
        });
      },
    ),
  ];
}

function reportRoutes(
  service: BuildPodService,
  { maxBytes }: Pick<BuildPodRouteOptions, "maxBytes">,
): Route[] {
  return [
    route(
      {
        ...{ ...shape, method: "post", path: "/internal/builds/{build_id}/lines" },
        ...{ operationId: "add_build_lines", summary: "Lines of a build's log", body: buildLines },
        ...{ maxBodyBytes: maxReportBytes, responses: { 204: { description: "Stored" } } },
      },
      async ({ params, request, body }) => {
        await service.addLines(await service.require(params.build_id, request.headers), body);
        return noContent();
      },
    ),
    route(
      {
        ...{ ...shape, method: "post", path: "/internal/builds/{build_id}/failure" },
        ...{ operationId: "fail_build", summary: "Why a build failed", body: buildFailure },
        ...{ maxBodyBytes: maxReportBytes, responses: { 204: { description: "Stored" } } },
      },
      async ({ params, request, body }) => {
        await service.fail(await service.require(params.build_id, request.headers), body);
        return noContent();
      },
    ),
    route(
      {
        ...{ ...shape, method: "put", path: "/internal/builds/{build_id}/artifact" },
        ...{ operationId: "put_build_artifact", summary: "What was built", rawBody: true },
        ...{ maxBodyBytes: 2 * maxBytes, responses: { 204: { description: "Stored" } } },
      },
      async ({ params, request }) => {
        const pod = await service.require(params.build_id, request.headers);
        await service.receive(pod, request.body);
        return noContent();
      },
    ),
  ];
}
