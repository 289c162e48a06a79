import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertDeployment, insertRevision, insertWorkspace } from "../../../tests/support/deployment-rows.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { createLogger } from "../../platform/logger.ts";
import type { BuildRequest } from "../builds/build-request.ts";
import type { Builder } from "../builds/builder/builder.ts";
import { enqueueBuild } from "../desired-state/build-jobs.ts";
import { readRevision } from "../desired-state/revision-store.ts";
import { BuildWorker } from "../reconciler/build-worker.ts";
import { PlatformClient } from "./platform-client.ts";
import { RemoteSources } from "./remote-sources.ts";

let test: TestDatabase;
let folder: TempFolder;
beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 4 });
  folder = await createTempFolder("remote-builds");
});
afterAll(async () => {
  await test?.drop();
  await folder?.remove();
});

it("a build that begins while another process has the lease waits, and does not fail", async () => {
  const { sql } = test.database;
  const workspaceId = await insertWorkspace(sql);
  const deploymentId = await insertDeployment(sql, workspaceId);
  const id = await insertRevision(sql, { workspaceId, deploymentId, status: "AWAITING_BUILD" });
  await enqueueBuild(sql, id);
  const client = new PlatformClient({ url: "http://127.0.0.1:9", apiKey: "a key", listenerId: randomUUID() });
  const sources = new RemoteSources(client);
  const builder = {
    room: () => 1,
    build: ({ source, signal }: BuildRequest) => source(signal),
  } as unknown as Builder;
  const worker = new BuildWorker({
    ...{ database: test.database, clock: systemClock, logger: createLogger({ level: "silent" }) },
    ...{ folder: folder.path, shares: false, builder },
    sourceOf: (revision, signal) => sources.of(revision, signal),
  });
  await worker.start();
  const job = await waitUntil(
    async () => {
      const { rows } = await raw<{ status: string; last_error: { code: string } | null }>`
        select status, last_error from jobs where idempotency_key = ${id}`.execute(sql);
      return rows[0]?.last_error ? rows[0] : undefined;
    },
    { what: "the end of an attempt", timeoutMs: 20_000 },
  );
  expect(job.last_error).toMatchObject({ code: "listener.lease_lost", retryable: true });
  expect((await readRevision(sql, id))?.status).toBe("BUILDING");
  await worker.stop();
});

it.each([
  [404, true],
  [403, false],
])("what the platform answers with %i is asked again: %s", async (status, retryable) => {
  const server = createServer((_, response) => response.writeHead(status).end('{"detail":"Not here."}'));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = new PlatformClient({ url, apiKey: "a key", listenerId: randomUUID() });
    const asked = client.recognise({ api_key: "another", authorization: null, tenant_id: null });
    await expect(asked).rejects.toMatchObject({ code: "listener.platform_refused", retryable });
  } finally {
    server.close();
  }
});
