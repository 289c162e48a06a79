import { duplexPair } from "node:stream";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import { FramePeer } from "../../../../tests/support/frame-peer.ts";
import { systemClock } from "../../../platform/clock.ts";
import { newId } from "../../../platform/ids.ts";
import { createLogger } from "../../../platform/logger.ts";
import { CheckpointStore } from "../../checkpoints/checkpoint-store.ts";
import type { ItemService } from "../../store/item-service.ts";
import { createStore } from "../../store/store.ts";
import { CallGrounds } from "./call-ground.ts";
import { PythonChannel } from "./python-channel.ts";
import { StoreProxy } from "./store-proxy.ts";

let database: TestDatabase;
let items: ItemService;

beforeAll(async () => {
  database = await createTestDatabase();
  const logger = createLogger({ level: "silent" });
  ({ items } = createStore({ database: database.database, clock: systemClock, logger }));
});
afterAll(() => database?.drop());

/** Python's store, where call 1 is a run of a workspace, or none. */
function connect(workspaceId: string | undefined = newId()) {
  const [near, far] = duplexPair();
  const grounds = new CallGrounds();
  const checkpoints = new CheckpointStore(database.database);
  grounds.add(1, { checkpoints, ...(workspaceId ? { store: { items, workspaceId } } : {}) });
  const { unary } = new StoreProxy(grounds).handlers;
  new PythonChannel({
    socket: near,
    handlers: { unary, streaming: {}, noted: {} },
    onProtocolError: ({ message }) => expect.fail(message),
  });
  const peer = new FramePeer(far);
  return async (...operations: object[]) => {
    const { texts } = await peer.call("store.batch", { for: 1 }, [JSON.stringify(operations)]);
    return JSON.parse(texts[0]!) as (null | { key: string; value: object }[] | { value: object })[];
  };
}

const put = (key: string, value: object | null, more: object = {}) => ({
  op: "put",
  namespace: ["notes", "mine"],
  key,
  value,
  ...more,
});
const get = (key: string) => ({ op: "get", namespace: ["notes", "mine"], key });
const search = (more: object = {}) => ({
  op: "search",
  namespacePrefix: ["notes"],
  limit: 10,
  offset: 0,
  ...more,
});

it("a batch puts, gets, searches, lists and removes", async () => {
  const batch = connect();
  expect(await batch(put("a", { n: 1 }), put("b", { n: 2 }, { ttl: 10 }))).toEqual([null, null]);
  const [one, none, found, namespaces] = await batch(get("a"), get("z"), search({ filter: { n: 2 } }), {
    op: "namespaces",
    matchConditions: [{ matchType: "prefix", path: ["notes"] }],
    limit: 5,
    offset: 0,
  });
  expect(one).toMatchObject({ value: { n: 1 } });
  expect(none).toBeNull();
  expect(found).toMatchObject([{ key: "b" }]);
  expect(namespaces).toEqual([["notes", "mine"]]);
  await batch(put("a", null));
  expect(await batch(get("a"))).toEqual([null]);
});

it("reads of a batch see the store before its writes, of which the last counts", async () => {
  const batch = connect();
  await batch(put("a", { n: 1 }));
  const [before] = await batch(get("a"), put("a", { n: 2 }), put("a", { n: 3 }));
  expect(before).toMatchObject({ value: { n: 1 } });
  expect((await batch(get("a")))[0]).toMatchObject({ value: { n: 3 } });
});

it("each workspace has its own", async () => {
  await connect()(put("a", { n: 1 }));
  expect(await connect()(search())).toEqual([[]]);
});

it("an item is gone when its time is over", async () => {
  const batch = connect();
  await batch(put("short", { n: 1 }, { ttl: 0.005 }), put("long", { n: 2 }, { ttl: 10 }));
  await expect
    .poll(async () => (await batch(search({ refreshTtl: false })))[0], { timeout: 20_000 })
    .toMatchObject([{ key: "long" }]);
});

it("without a run there is none", async () => {
  const batch = connect("");
  await expect(batch(get("a"))).rejects.toMatchObject({ code: "store.no_run" });
});
