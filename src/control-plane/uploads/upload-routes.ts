import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { id } from "../wire/wire-fields.ts";
import { maxTarballBytes, type UploadService } from "./upload-service.ts";

const tag = "Deployments (v2)";

export function uploadRoutes(service: UploadService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/v2/deployments/{deployment_id}/upload-url",
        operationId: "create_upload_url",
        summary: "Get a URL to upload a source archive to",
        description:
          "PUT the .tar.gz there within an hour, then send `object_path` as `source_tarball_path`.",
        tag,
        access: { kind: "workspace", role: "editor", scope: "deploy" },
        audit: {
          action: "deployment.upload_url_created",
          target: { kind: "deployment", id: "params.deployment_id" },
        },
        params: z.object({ deployment_id: id }),
        responses: {
          200: {
            description: "The address",
            schema: z.object({ upload_url: z.string(), object_path: z.string() }),
          },
        },
        errors: [404],
      },
      async ({ caller, params }) => json(200, await service.open(caller, params.deployment_id)),
    ),
    route(
      {
        method: "put",
        path: "/v2/uploads/{deployment_id}/{file}",
        operationId: "put_upload",
        summary: "Upload a source archive",
        description:
          "The secret in the address is the credential. Send the same archive again if no answer came; another one is refused.",
        tag,
        access: { kind: "open" },
        params: z.object({ deployment_id: id, file: z.string().regex(/^[0-9a-f-]{36}\.tar\.gz$/) }),
        query: z.object({ token: z.string().default("") }),
        rawBody: true,
        maxBodyBytes: maxTarballBytes,
        responses: { 200: { description: "Stored", schema: z.object({ object_path: z.string() }) } },
        errors: [403, 413],
      },
      async ({ params, query, request }) => {
        const objectPath = `${params.deployment_id}/${params.file}`;
        await service.receive(objectPath, query.token, request.body);
        return json(200, { object_path: objectPath });
      },
    ),
  ];
}
