import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import type { CephRgw } from "./components/ceph-rgw.ts";
import { s3Request } from "./components/s3-request.ts";

export type S3Access = Pick<CephRgw, "endpoint" | "region" | "accessKey" | "secretKey">;

export async function createBucket(rgw: S3Access, bucket: string): Promise<void> {
  const answer = await s3Request({ ...rgw, method: "PUT", path: `/${bucket}` });
  if (!answer.ok) throw new Error(`Bucket ${bucket}: ${answer.status} ${await answer.text()}`);
}

export async function listKeys(rgw: S3Access, bucket: string, prefix = ""): Promise<string[]> {
  const keys: string[] = [];
  let token: string | undefined;
  do {
    const query = {
      "list-type": "2",
      prefix,
      ...(token === undefined ? {} : { "continuation-token": token }),
    };
    const answer = await s3Request({ ...rgw, method: "GET", path: `/${bucket}`, query });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`Listing ${bucket}: ${answer.status} ${text}`);
    keys.push(...[...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map((match) => match[1]!));
    token = /<NextContinuationToken>([^<]*)</.exec(text)?.[1];
  } while (token !== undefined);
  return keys.sort();
}

export async function readObject(rgw: S3Access, bucket: string, key: string): Promise<Buffer> {
  const answer = await s3Request({ ...rgw, method: "GET", path: `/${bucket}/${key}` });
  if (!answer.ok) throw new Error(`Object ${key}: ${answer.status} ${await answer.text()}`);
  return Buffer.from(await answer.arrayBuffer());
}

export async function deleteObject(rgw: S3Access, bucket: string, key: string): Promise<void> {
  await s3Request({ ...rgw, method: "DELETE", path: `/${bucket}/${key}` });
}

export type ExportedFiles = {
  keys: string[];
  /** Rows by DuckDB, with hive partitioning on; values as JSON has them. */
  query(sql: (files: string) => string): Promise<Record<string, unknown>[]>;
  /** The same rows by an independent reader, file after file. */
  readAgain(): Promise<Record<string, unknown>[]>;
  metadata(key: string): ReturnType<typeof parquetMetadata>;
  remove(): Promise<void>;
};

/** Everything an export wrote, copied from the bucket with its folders. */
export async function downloadExport(
  rgw: S3Access,
  bucket: string,
  exportId: string,
  prefix = "",
): Promise<ExportedFiles> {
  const root = await mkdtemp(join(tmpdir(), "treadle-export-"));
  const start = `${prefix === "" ? "" : `${prefix}/`}export_id=${exportId}/`;
  const keys = await listKeys(rgw, bucket, start);
  const buffers = new Map<string, Buffer>();
  for (const key of keys) {
    const bytes = await readObject(rgw, bucket, key);
    buffers.set(key, bytes);
    const path = join(root, key);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
  }
  const arrayBuffer = (key: string): ArrayBuffer => {
    const bytes = buffers.get(key)!;
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
  };
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  await connection.run("set TimeZone = 'UTC'");
  return {
    keys,
    async query(sql) {
      const files = `read_parquet('${root}/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)`;
      return (await connection.runAndReadAll(sql(files))).getRowObjectsJson() as Record<string, unknown>[];
    },
    async readAgain() {
      const rows: Record<string, unknown>[] = [];
      for (const key of keys)
        rows.push(...(await parquetReadObjects({ file: arrayBuffer(key), compressors })));
      return rows;
    },
    metadata: (key) => parquetMetadata(arrayBuffer(key)),
    async remove() {
      connection.closeSync();
      instance.closeSync();
      await rm(root, { recursive: true, force: true });
    },
  };
}

export function parseManifest(bytes: Buffer): Record<string, unknown> {
  return JSON.parse(bytes.toString("utf8")) as Record<string, unknown>;
}
