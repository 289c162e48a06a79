import { Readable } from "node:stream";
import { z } from "zod";
import type { Database } from "../../../platform/db/database.ts";
import type { SecretBox } from "../../../platform/encryption/secret-box.ts";
import { AppError } from "../../../platform/errors.ts";
import { type Route, route } from "../../../platform/http/route.ts";
import { packTree } from "../../builds/artifact-pack.ts";
import type { ArtifactShelf } from "../../builds/artifact-shelf.ts";
import { Transfers } from "../../builds/transfers.ts";
import { readRevision } from "../../desired-state/revision-store.ts";
import { showsSecret } from "../../encryption/bearer.ts";
import { instanceSecretContext } from "../../encryption/sealed-columns.ts";
import { id } from "../../wire/wire-fields.ts";
import type { Instance } from "../instance.ts";
import { readInstance } from "../instance-store.ts";

/** Packing costs time, and so does a server that reads slowly. */
const limits = { atOnce: 4, perGroup: 4, transferMs: 10 * 60_000, busy };

type ArtifactRouteOptions = {
  database: Database;
  secretBox: SecretBox;
  shelf: Pick<ArtifactShelf, "find">;
};

/** What was built, only for the server that is to run it: it presents the secret of its own start. */
export function artifactRoutes(options: ArtifactRouteOptions): Route[] {
  const transfers = new Transfers(limits);
  return [
    route(
      {
        ...{ method: "get", path: "/internal/artifacts/{instance_id}", operationId: "read_artifact" },
        ...{ summary: "Fetch what was built", tag: "Deployments", access: { kind: "open" }, hidden: true },
        params: z.object({ instance_id: id }),
        responses: { 200: { description: "A .tar.zst" } },
      },
      async ({ params, request }) => {
        const id = params.instance_id;
        const instance = await requireInstance(options, id, request.headers);
        const archive = await transfers.open({ id, group: instance.deployment_id }, async () => {
          const folder = await findFolder(options, instance.revision_id, request.signal);
          return Readable.from(packTree(folder), { objectMode: false });
        });
        return new Response(Readable.toWeb(archive) as ReadableStream<Uint8Array>, {
          headers: { "content-type": "application/zstd", "cache-control": "no-store" },
        });
      },
    ),
  ];
}

async function requireInstance(
  { database, secretBox }: ArtifactRouteOptions,
  instanceId: string,
  headers: Headers,
): Promise<Instance> {
  const instance = await readInstance(database.sql, instanceId);
  const sealed = instance && instance.state !== "exited" ? instance.secret_sealed : null;
  // One answer for a start that does not exist and for a secret that is not its own.
  const secret = sealed === null ? null : { sealed, context: instanceSecretContext(instanceId) };
  if (!instance || !secret || !showsSecret(headers, secret, secretBox)) throw unknown();
  return instance;
}

async function findFolder(
  { database, shelf }: ArtifactRouteOptions,
  revisionId: string,
  signal: AbortSignal,
): Promise<string> {
  const revision = await readRevision(database.sql, revisionId);
  const key = revision?.artifact_key;
  const artifact = revision && key ? await shelf.find(revision.workspace_id, key, signal) : undefined;
  if (artifact) return artifact.path;
  throw new AppError({
    code: "runtime.artifact_missing",
    kind: "conflict",
    message: "The build of this revision was removed. Redeploy it: it is built again from the same commit.",
  });
}

function busy(): AppError {
  return new AppError({
    code: "runtime.artifact_busy",
    kind: "rate_limited",
    message: "Other builds are being fetched, or this one is already. Try again in a moment.",
    headers: { "retry-after": "2" },
  });
}

function unknown(): AppError {
  return new AppError({
    code: "runtime.artifact_unknown",
    kind: "not_found",
    message: "There is no such artifact for this credential.",
  });
}
