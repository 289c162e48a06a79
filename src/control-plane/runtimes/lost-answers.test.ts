import { afterAll, beforeAll, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertDeployment, insertRevision, insertWorkspace } from "../../../tests/support/deployment-rows.ts";
import { ScriptedRuntime } from "../../../tests/support/scripted-runtime.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import { createLogger } from "../../platform/logger.ts";
import type { Instance } from "./instance.ts";
import type { LaunchSpec } from "./launch-spec.ts";
import { oneReplica, type StartSpec } from "./runtime.ts";
import { Supervisor } from "./supervisor.ts";

let test: TestDatabase;
let folder: TempFolder;
let deploymentId: string;
let revisionId: string;
let spec: LaunchSpec;
/** So many writes are stored, and their answers are lost with the connection. */
let lostAnswers = 0;
/** So many writes do not reach the database. */
let lostWrites = 0;
const secretBox = new SecretBox({ currentKey: "the key of these tests" });
const addresses = { database: "postgres://d", own: "http://own", traces: null };

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 3 });
  folder = await createTempFolder("supervisor");
  const { sql } = test.database;
  const workspaceId = await insertWorkspace(sql);
  deploymentId = await insertDeployment(sql, workspaceId);
  revisionId = await insertRevision(sql, { workspaceId, deploymentId });
  spec = { ...anySpec, deploymentId, revisionId };
});

afterAll(async () => {
  await test?.drop();
  await folder?.remove();
});

function open() {
  const runtime = new ScriptedRuntime();
  const changes: string[] = [];
  const supervisor = new Supervisor({
    ...{ database: test.database, clock: systemClock, logger: createLogger({ level: "silent" }), secretBox },
    fence: {
      signal: new AbortController().signal,
      async write(work) {
        const away = { code: "database.unavailable", kind: "unavailable", message: "It is away." } as const;
        if (lostWrites > 0) {
          lostWrites -= 1;
          throw new AppError(away);
        }
        const answer = await test.database.transaction(work);
        if (lostAnswers === 0) return answer;
        lostAnswers -= 1;
        throw new AppError(away);
      },
    },
    ...{ runtime, folder: folder.path, onChange: (id: string) => changes.push(id) },
  });
  return { supervisor, runtime, changes };
}

const anySpec: LaunchSpec = {
  ...{
    deploymentId: "",
    workspaceId: "",
    revisionId: "",
    attempt: 1,
    folder: null,
    configPath: "langgraph.json",
  },
  ...{
    image: null,
    pinned: null,
    resources: { memoryBytes: null, cpus: null },
    scale: oneReplica,
    addresses,
    tracingKeyId: null,
  },
  environment: ({ port, instanceSecret }) => ({ PORT: String(port), SECRET: instanceSecret }),
  secrets: [],
};

async function newest(): Promise<Instance> {
  const { rows } = await raw<Instance>`select * from deployment_instances order by started_at desc, id desc
    limit 1`.execute(test.database.sql);
  return rows[0]!;
}

async function inState(id: string, state: string): Promise<Instance> {
  const { sql } = test.database;
  return waitUntil(
    async () => {
      const { rows } = await raw<Instance>`select * from deployment_instances where id = ${id}`.execute(sql);
      return rows[0]?.state === state ? rows[0] : undefined;
    },
    { what: `the server to be ${state}`, timeoutMs: 60_000 },
  );
}

async function launch(opened: ReturnType<typeof open>): Promise<StartSpec> {
  await opened.supervisor.launch(spec);
  return opened.runtime.started.at(-1)!;
}

it("a start goes on when the answer to any of its writes is lost: it has a watch, and its being ready is told", async () => {
  const opened = open();
  const count = async () =>
    (await raw`select 1 from deployment_instances`.execute(test.database.sql)).rows.length;
  const before = await count();
  lostAnswers = 1;
  opened.runtime.beforeStart = async () => {
    lostAnswers = 1;
  };
  const server = await launch(opened);
  expect(await newest()).toMatchObject({ id: server.instanceId, handle: { id: server.instanceId } });
  expect(await count()).toBe(before + 1);
  await opened.runtime.announce(server);
  await waitUntil(async () => opened.changes.length > 0, { what: "its graphs", timeoutMs: 60_000 });
  opened.changes.length = 0;
  lostAnswers = 1;
  await opened.runtime.serve(server);
  await waitUntil(() => opened.changes.length > 0, { what: "that it is ready", timeoutMs: 60_000 });
  expect(await newest()).toMatchObject({ id: server.instanceId, state: "ready" });
  lostAnswers = 1;
  await opened.supervisor.stop(server.instanceId);
  expect(opened.runtime.asked).toEqual(["stop"]);
  expect(await inState(server.instanceId, "exited")).toMatchObject({ exit_kind: "stopped" });
  expect(lostAnswers).toBe(0);
});

it("a server that was started while the database was away is watched when it is back, and not started twice", async () => {
  const opened = open();
  opened.runtime.beforeStart = async () => {
    lostWrites = 3;
  };
  const server = await launch(opened);
  expect(opened.runtime.started).toHaveLength(1);
  expect(await newest()).toMatchObject({ id: server.instanceId, handle: { id: server.instanceId } });
  await opened.runtime.announce(server);
  await opened.runtime.serve(server);
  await inState(server.instanceId, "ready");
  await opened.supervisor.stop(server.instanceId);
  await inState(server.instanceId, "exited");
});
