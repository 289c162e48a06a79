import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertDeployment, insertRevision, insertWorkspace } from "../../../tests/support/deployment-rows.ts";
import { FolderBlobStore } from "../../platform/blob/folder-blob-store.ts";
import { sweepUnclaimed } from "../../platform/blob/unclaimed-blobs.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { createLogger } from "../../platform/logger.ts";
import type { OwnDeployments } from "../desired-state/caller-access.ts";
import { maintain } from "../reconciler/maintenance.ts";
import { UploadService } from "./upload-service.ts";
import { findUpload, holdUpload } from "./upload-store.ts";

const never = new AbortController().signal;
const dayMs = 86_400_000;
let test: TestDatabase;
let temp: TempFolder;
let workspaceId: string;
let deploymentId: string;
let blobs: FolderBlobStore;
let service: UploadService;
beforeAll(async () => {
  [test, temp] = await Promise.all([createTestDatabase(), createTempFolder("uploads")]);
  workspaceId = await insertWorkspace(test.database.sql);
});
afterAll(async () => {
  await test?.drop();
  await temp?.remove();
});
beforeEach(async () => {
  const { database } = test;
  await raw`delete from deployments`.execute(database.sql);
  await raw`delete from unclaimed_blobs`.execute(database.sql);
  blobs = new FolderBlobStore(join(temp.path, randomUUID()));
  deploymentId = await insertDeployment(database.sql, workspaceId);
  const deployments = { load: async () => undefined } as unknown as OwnDeployments;
  service = new UploadService({
    ...{ database, clock: systemClock, deployments, blobs, publicUrl: () => "http://here" },
  });
});

async function open(): Promise<{ path: string; token: string }> {
  const { object_path: path, upload_url } = await service.open({ workspaceId } as Caller, deploymentId);
  return { path, token: new URL(upload_url).searchParams.get("token")! };
}

const bodyOf = (text: string) => new Blob([text]).stream();

/** A body whose end its owner decides. */
function slowBody(text: string): { body: ReadableStream<Uint8Array>; end(): void } {
  let end = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(Buffer.from(text));
      end = () => controller.close();
    },
  });
  return { body, end: () => end() };
}

async function read(path: string): Promise<string> {
  const upload = (await findUpload(test.database.sql, deploymentId, path))!;
  const file = join(temp.path, randomUUID());
  await service.save(upload, { sha256: upload.sha256!, bytes: upload.bytes!, file, signal: never });
  return readFile(file, "utf8");
}

const unclaimed = async () =>
  (await raw<{ key: string }>`select key from unclaimed_blobs`.execute(test.database.sql)).rows;
const keys = async () => (await blobs.list("uploads/", { limit: 10 })).map(({ key }) => key);

it("of two requests to one URL at once one is kept, whole, and the other is told", async () => {
  const { path, token } = await open();
  const [first, second] = [slowBody("a".repeat(1_000)), slowBody("b".repeat(2_000))];
  const results = [service.receive(path, token, first.body), service.receive(path, token, second.body)];
  const settled = Promise.allSettled(results);
  first.end();
  second.end();
  const outcome = await settled;
  const refused = outcome.filter(({ status }) => status === "rejected");
  expect(refused).toHaveLength(1);
  expect(refused[0]).toMatchObject({ reason: { code: "upload.used", kind: "forbidden" } });
  expect(await read(path)).toMatch(/^(a{1000}|b{2000})$/);
  const now = new Date(Date.now() + 2 * dayMs);
  await sweepUnclaimed({ database: test.database, blobs, now, named: async () => new Set() }, never);
  expect(await keys()).toHaveLength(1);
  expect(await unclaimed()).toEqual([]);
  await expect(service.receive(path, token, bodyOf("late"))).rejects.toMatchObject({
    code: "upload.used",
  });
});

it("whoever did not hear the answer sends the same again, and nothing else is taken", async () => {
  const { path, token } = await open();
  await service.receive(path, token, bodyOf("the archive"));
  const before = await keys();
  for (let times = 0; times < 2; times += 1) await service.receive(path, token, bodyOf("the archive"));
  for (const other of ["the archivE", "the archive and more", "the"])
    await expect(service.receive(path, token, bodyOf(other))).rejects.toMatchObject({ code: "upload.used" });
  await expect(service.receive(path, token, null)).rejects.toMatchObject({ code: "upload.empty" });
  await expect(service.receive(path, "guessed", bodyOf("the archive"))).rejects.toMatchObject({
    code: "upload.unknown",
  });
  expect(await keys()).toEqual(before);
  expect(await unclaimed()).toEqual([]);
  expect(await read(path)).toBe("the archive");
  await raw`update source_uploads set expires_at = now() - interval '1 second'`.execute(test.database.sql);
  await expect(service.receive(path, token, bodyOf("the archive"))).rejects.toMatchObject({
    code: "upload.unknown",
  });
});

it("an archive that is longer than the stored one is refused before it has all come", async () => {
  const { path, token } = await open();
  await service.receive(path, token, bodyOf("short"));
  await expect(service.receive(path, token, slowBody("much longer").body)).rejects.toMatchObject({
    code: "upload.used",
  });
});

it("the same archive in two requests at once is stored once, and both are told so", async () => {
  const { path, token } = await open();
  const [first, second] = [slowBody("the same"), slowBody("the same")];
  const results = Promise.all([first, second].map(({ body }) => service.receive(path, token, body)));
  first.end();
  second.end();
  await results;
  expect(await keys()).toHaveLength(1);
  expect(await unclaimed()).toEqual([]);
  expect(await read(path)).toBe("the same");
});

it("the second may win, and what the first stores afterwards changes nothing", async () => {
  const { path, token } = await open();
  const first = slowBody("the first");
  const waiting = service.receive(path, token, first.body);
  await service.receive(path, token, bodyOf("the second"));
  first.end();
  await expect(waiting).rejects.toMatchObject({ code: "upload.used" });
  expect(await keys()).toHaveLength(1);
  expect(await read(path)).toBe("the second");
});

function maintainAt(now: Date): Promise<void> {
  const { database } = test;
  return maintain(
    {
      ...{
        database,
        clock: { now: () => now },
        logger: createLogger({ level: "silent" }),
        folder: temp.path,
      },
      ...{ blobs, logs: { retentionDays: 7, maxLines: 1_000 } },
    },
    never,
  );
}

it("an archive that no revision uses is removed after a day, one that is used is not", async () => {
  const { sql } = test.database;
  const paths: string[] = [];
  for (const text of ["used", "of the deployment", "unused"]) {
    const { path, token } = await open();
    await service.receive(path, token, bodyOf(text));
    paths.push(path);
  }
  const named = (path: string) => JSON.stringify({ source_tarball_path: path });
  const revision = await insertRevision(sql, { workspaceId, deploymentId });
  await raw`update revisions set source_revision_config = ${named(paths[0]!)} where id = ${revision}`.execute(
    sql,
  );
  await raw`update deployments set source_revision_config = ${named(paths[1]!)}`.execute(sql);
  await maintainAt(new Date());
  expect(await keys()).toHaveLength(3);
  for (const days of [2, 3]) {
    await maintainAt(new Date(Date.now() + days * dayMs));
    expect(await keys()).toEqual(
      paths
        .slice(0, 2)
        .map((path) => `uploads/${path}`)
        .toSorted(),
    );
    expect(await unclaimed()).toEqual([]);
  }
  expect(await read(paths[0]!)).toBe("used");
});

it("an archive that a revision is about to use stays", async () => {
  const { sql } = test.database;
  const { path, token } = await open();
  await service.receive(path, token, bodyOf("just in time"));
  let sweeping: Promise<void> | undefined;
  await test.database.transaction(async (tx) => {
    expect(await holdUpload(tx, deploymentId, path)).toBeDefined();
    sweeping = maintainAt(new Date(Date.now() + 2 * dayMs));
    const config = JSON.stringify({ source_tarball_path: path });
    await raw`update deployments set source_revision_config = ${config} where id = ${deploymentId}`.execute(
      tx,
    );
  });
  await sweeping;
  expect(await findUpload(sql, deploymentId, path)).toBeDefined();
  expect(await read(path)).toBe("just in time");
});
