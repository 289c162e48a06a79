import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fetchArtifact } from "../src/cli/commands/artifact/fetch-artifact.ts";
import { ArtifactShelf } from "../src/control-plane/builds/artifact-shelf.ts";
import { insertArtifact } from "../src/control-plane/builds/artifact-store.ts";
import { instanceSecretContext } from "../src/control-plane/encryption/sealed-columns.ts";
import { artifactRoutes } from "../src/control-plane/runtimes/kubernetes/artifact-routes.ts";
import { systemClock } from "../src/platform/clock.ts";
import { raw } from "../src/platform/db/raw.ts";
import { SecretBox } from "../src/platform/encryption/secret-box.ts";
import { createHttpApp } from "../src/platform/http/pipeline/http-app.ts";
import { listen, type RunningServer } from "../src/platform/http/server/server.ts";
import { createLogger } from "../src/platform/logger.ts";
import { Metrics } from "../src/platform/metrics.ts";
import { createTempFolder, type TempFolder } from "./support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import {
  insertDeployment,
  insertInstance,
  insertRevision,
  insertWorkspace,
} from "./support/deployment-rows.ts";

let test: TestDatabase;
let folder: TempFolder;
let server: RunningServer;
const secretBox = new SecretBox({ currentKey: "a secret key for tests only" });
const logger = createLogger({ level: "silent" });

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
  folder = await createTempFolder("artifact-routes");
  const shelf = new ArtifactShelf({
    ...{ database: test.database, clock: systemClock, folder: join(folder.path, "artifacts") },
    ...{ blobs: null, maxBytes: 0 },
  });
  const http = createHttpApp({
    routes: artifactRoutes({ database: test.database, secretBox, shelf }),
    authenticator: {
      authenticate: async () => null,
      loopbackCaller: () => Promise.reject(new Error("nobody is asked for")),
    },
    ...{ agentAuthRequired: true, logger, metrics: new Metrics({ processMetrics: false }) },
    ...{ corsOrigins: [], documents: [], validateResponses: true },
  });
  server = await listen(http, { host: "127.0.0.1", port: 0, logger });
});
afterAll(async () => {
  await server?.close({ graceMs: 1_000 });
  await test?.drop();
  await folder?.remove();
});

/** A server of a workspace of its own, with a build. */
async function startOf(name: string) {
  const { sql } = test.database;
  const workspaceId = await insertWorkspace(sql);
  const deploymentId = await insertDeployment(sql, workspaceId);
  const revisionId = await insertRevision(sql, { workspaceId, deploymentId });
  const id = await insertInstance(sql, { deploymentId, revisionId });
  const path = join(folder.path, `built-${name}`);
  await mkdir(join(path, "inner"), { recursive: true });
  await writeFile(join(path, "inner/graph.js"), `// ${name}\n`);
  const artifact = {
    key: name,
    path,
    bytes: 1,
    uses_own_auth: false,
    sha256: null,
    packed_bytes: null,
    blob_id: null,
    workspace_id: workspaceId,
  };
  await insertArtifact(sql, artifact, new Date());
  await raw`update revisions set artifact_key = ${name} where id = ${revisionId}`.execute(sql);
  const secret = `the secret of ${name}`;
  const sealed = secretBox.seal(secret, instanceSecretContext(id));
  await raw`update deployment_instances set secret_sealed = ${sealed} where id = ${id}`.execute(sql);
  const ends = () => raw`update deployment_instances set state = 'exited' where id = ${id}`.execute(sql);
  return { id, secret, path, ends };
}

async function fetchAs(name: string, id: string, secret: string): Promise<string> {
  const into = join(folder.path, name);
  await mkdir(into);
  const tokenFile = join(folder.path, `${name}.token`);
  await writeFile(tokenFile, `${secret}\n`);
  await fetchArtifact({ url: `${server.url}/internal/artifacts/${id}`, folder: into, tokenFile });
  return await readFile(join(into, "inner/graph.js"), "utf8");
}

describe("what was built", () => {
  it("goes to the server that shows the secret of its start", async () => {
    const one = await startOf("one");
    expect(await fetchAs("into-one", one.id, one.secret)).toBe("// one\n");
  });

  it("goes to nobody else, not even to another server, and not after the end", async () => {
    const mine = await startOf("mine");
    const theirs = await startOf("theirs");
    const unknown = /answers 404: .*There is no such artifact for this credential/;
    await expect(fetchAs("into-theirs", theirs.id, mine.secret)).rejects.toThrow(unknown);
    await expect(fetchAs("into-unknown", crypto.randomUUID(), mine.secret)).rejects.toThrow(unknown);
    expect((await fetch(`${server.url}/internal/artifacts/${mine.id}`)).status).toBe(404);
    await mine.ends();
    await expect(fetchAs("into-mine", mine.id, mine.secret)).rejects.toThrow(unknown);
  });

  it("is said to be gone when its folder is", async () => {
    const gone = await startOf("gone");
    await raw`update build_artifacts set path = ${`${gone.path}-moved`} where key = 'gone'`.execute(
      test.database.sql,
    );
    await expect(fetchAs("into-gone", gone.id, gone.secret)).rejects.toThrow(
      /answers 409: .*was removed. Redeploy it/,
    );
  });

  it("goes once at a time to a server, and to four at most; the others have their turn", async () => {
    const all = await Promise.all(["a", "b", "c", "d", "e"].map((name) => startOf(`busy-${name}`)));
    // More than connections hold by themselves.
    for (const { path } of all) await writeFile(join(path, "large"), randomBytes(30_000_000));
    const ask = ({ id, secret }: (typeof all)[number]) =>
      fetch(`${server.url}/internal/artifacts/${id}`, { headers: { authorization: `Bearer ${secret}` } });
    const [first, ...rest] = await Promise.all(all.slice(0, 4).map(ask));
    expect([first, ...rest].map((answer) => answer!.status)).toEqual([200, 200, 200, 200]);
    for (const start of [all[0]!, all[4]!]) {
      const refused = await ask(start);
      expect(refused.status).toBe(429);
      expect(refused.headers.get("retry-after")).toBe("2");
    }
    const waits = fetchAs("into-busy", all[4]!.id, all[4]!.secret);
    await first!.body!.cancel();
    expect(await waits).toBe("// busy-e\n");
    for (const answer of rest) await answer.body!.cancel();
  });
});
