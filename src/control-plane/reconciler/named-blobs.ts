import type { Sql } from "../../platform/db/database.ts";
import { artifactBlobKey } from "../builds/artifact-shelf.ts";
import { listStoredArtifacts } from "../builds/artifact-store.ts";
import { uploadKey } from "../uploads/upload-service.ts";
import { listFilledUploads } from "../uploads/upload-store.ts";

/**
 * Those of the keys that rows name. Two servers of an earlier version may make the same artifact, and one of them die
 * after the other has made the row; and an older server stores without a word about it.
 */
export async function namedBlobs(tx: Sql, keys: readonly string[]): Promise<Set<string>> {
  const artifacts = keys.flatMap(
    (key) => /^artifacts\/([^/.]+)(?:\.[^/.]+)?\.tar\.zst$/.exec(key)?.[1] ?? [],
  );
  const uploads = keys.flatMap((key) => /^uploads\/(.+)$/.exec(key)?.[1] ?? []);
  const paths = uploads.flatMap((path) => [path, path.replace(/\.\d+\.tar\.gz$/, ".tar.gz")]);
  const stored = await listStoredArtifacts(tx, artifacts);
  const filled = await listFilledUploads(tx, paths);
  return new Set([
    ...stored.map(artifactBlobKey),
    ...filled.map(({ object_path: path, attempt }) => uploadKey(path, attempt)),
  ]);
}
