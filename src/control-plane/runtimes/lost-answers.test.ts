import { afterAll, beforeAll, expect, it } from "vitest";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { SupervisorGround } from "../../../tests/support/supervisor-ground.ts";
import { raw } from "../../platform/db/raw.ts";
import { AppError } from "../../platform/errors.ts";

let ground: SupervisorGround;
/** So many writes are stored, and their answers are lost with the connection. */
let lostAnswers = 0;
/** So many writes do not reach the database. */
let lostWrites = 0;

beforeAll(async () => {
  ground = await SupervisorGround.create();
});
afterAll(() => ground?.remove());

function open() {
  return ground.open({
    signal: new AbortController().signal,
    async write(work) {
      const away = { code: "database.unavailable", kind: "unavailable", message: "It is away." } as const;
      if (lostWrites > 0) {
        lostWrites -= 1;
        throw new AppError(away);
      }
      const answer = await ground.test.database.transaction(work);
      if (lostAnswers === 0) return answer;
      lostAnswers -= 1;
      throw new AppError(away);
    },
  });
}

const newest = () => ground.newest();
const inState = (id: string, state: string) => ground.inState(id, state, 60_000);
const launch = (opened: ReturnType<typeof open>) => ground.launch(opened);

it("a start goes on when the answer to any of its writes is lost: it has a watch, and its being ready is told", async () => {
  const opened = open();
  const count = async () =>
    (await raw`select 1 from deployment_instances`.execute(ground.test.database.sql)).rows.length;
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
