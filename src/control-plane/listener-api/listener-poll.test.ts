import { afterAll, beforeAll, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { type ControlPlaneServer, startControlPlane } from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { ListenerPeer } from "../../../tests/support/listener-peer.ts";
import { raw } from "../../platform/db/raw.ts";

let test: TestDatabase;
let folder: TempFolder;
let plane: ControlPlaneServer;
beforeAll(async () => {
  [test, folder] = await Promise.all([createTestDatabase(), createTempFolder("listener-poll")]);
  plane = await startControlPlane({ databaseUrl: test.url, folder: folder.path });
  // Every look renews the lease, and nothing else in this test does.
  await raw`create table looks (listener_id uuid not null)`.execute(test.database.sql);
  await raw`create function count_look() returns trigger language plpgsql as
    $$ begin insert into looks values (new.id); return null; end $$`.execute(test.database.sql);
});
afterAll(async () => {
  await plane?.stop();
  await test?.drop();
  await folder?.remove();
});

async function looks(): Promise<Map<string, number>> {
  const { rows } = await raw<{ listener_id: string; count: number }>`
    select listener_id, count(*)::int as count from looks group by 1`.execute(test.database.sql);
  return new Map(rows.map(({ listener_id, count }) => [listener_id, count]));
}

it("a change of a deployment wakes the poll of its own listener, and none of nineteen others", {
  timeout: 120_000,
}, async () => {
  const peers: { peer: ListenerPeer; epoch: number; known: string }[] = [];
  for (let made = 0; made < 20; made += 1) {
    const peer = await ListenerPeer.make(plane);
    const epoch = await peer.takeLease();
    peers.push({ peer, epoch, known: "" });
  }
  const [first, ...others] = peers;
  const { id } = await first!.peer.deploy();
  for (const each of peers) {
    const { body } = await each.peer.call<{ version: string }>("POST", "/poll", { epoch: each.epoch });
    each.known = body.version;
  }
  await raw`create trigger look after update on listeners for each row execute function count_look()`.execute(
    test.database.sql,
  );
  const poll = async ({ peer, epoch, known }: (typeof peers)[number]) => {
    const asked = { epoch, known, wait_seconds: 30 };
    return peer.call<{ version: string; deployments: { desired_state: string }[] }>("POST", "/poll", asked);
  };
  const quiet = others.map((each) => poll(each));
  let woken = poll(first!);
  await waitUntil(async () => (await looks()).size === peers.length, {
    ...{ what: "every poll to have looked", timeoutMs: 30_000 },
  });
  const looksOfOthers = async () => {
    const counted = await looks();
    return others.map(({ peer }) => counted.get(peer.id));
  };
  const before = await looksOfOthers();
  // Twice: whoever the first change wakes has looked by the end of the second.
  for (const [change, state] of [
    ["stop", "stopped"],
    ["start", "running"],
  ] as const) {
    expect((await plane.call("POST", `/v2/deployments/${id}/${change}`)).status).toBe(200);
    const { status, body } = await woken;
    expect([status, body.deployments[0]?.desired_state]).toEqual([200, state]);
    first!.known = body.version;
    if (change === "stop") woken = poll(first!);
  }
  expect(await looksOfOthers()).toEqual(before);
  // A change of their own ends their waits.
  await Promise.all(others.map(({ peer }) => peer.deploy()));
  for (const answer of await Promise.all(quiet)) expect([200, 204]).toContain(answer.status);
});
