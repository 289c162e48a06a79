import { duplexPair } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import { FramePeer } from "../../../../tests/support/frame-peer.ts";
import { AppError } from "../../../platform/errors.ts";
import { newId } from "../../../platform/ids.ts";
import { CheckpointStore } from "../../checkpoints/checkpoint-store.ts";
import { type CallGround, CallGrounds } from "./call-ground.ts";
import { PythonChannel } from "./python-channel.ts";
import { SaverProxy } from "./saver-proxy.ts";

let database: TestDatabase;
let checkpoints: CheckpointStore;

beforeAll(async () => {
  database = await createTestDatabase();
  checkpoints = new CheckpointStore(database.database);
});
afterAll(() => database?.drop());

/** Python's end, where call 1 of the server is under way. */
function connect(ground: Partial<CallGround> = {}) {
  const [near, far] = duplexPair();
  const grounds = new CallGrounds();
  grounds.add(1, { checkpoints, ...ground });
  const { unary, streaming } = new SaverProxy(grounds).handlers;
  const faults: string[] = [];
  new PythonChannel({
    socket: near,
    handlers: { unary, streaming, noted: {} },
    onProtocolError: ({ message }) => faults.push(message),
  });
  return { peer: new FramePeer(far), grounds, faults };
}

const idOf = (number: number) => `1f000000-0000-6000-8000-00000000000${number}`;
const placeOf = (threadId: string, number: number) => ({ for: 1, threadId, ns: "", id: idOf(number) });

function put(peer: FramePeer, threadId: string, number: number, value: string) {
  const version = String(number);
  const parentId = number > 1 ? idOf(number - 1) : null;
  const meta = { parentId, refs: [["said", version]], blobs: [["said", version, "json"]] };
  const texts = [`{"v":${number},"inline":{}}`, `{"step":${number}}`, value];
  return peer.call("saver.put", { ...placeOf(threadId, number), ...meta }, texts);
}

describe("checkpoints that Python saves", () => {
  it("are found again as they were, the latest or by id, and listed newest first", async () => {
    const { peer } = connect();
    const threadId = newId();
    await put(peer, threadId, 1, '"one"');
    await put(peer, threadId, 2, '"two"');
    const { id: _id, ...latest } = placeOf(threadId, 2);
    const found = await peer.call("saver.get", latest);
    expect(found.texts).toEqual(expect.arrayContaining(['{"v":2,"inline":{}}', '{"step":2}', '"two"']));
    const first = await peer.call("saver.get", placeOf(threadId, 1));
    expect(first.texts).toContain('"one"');
    const listed = await peer.stream("saver.list", { for: 1, threadId, ns: "" });
    expect(listed.map(({ texts }) => texts.includes('"two"'))).toEqual([true, false]);
    const limited = await peer.stream("saver.list", { for: 1, threadId, ns: "", limit: 1 });
    expect(limited).toHaveLength(1);
    expect((await peer.call("saver.get", { for: 1, threadId: newId(), ns: "" })).texts).toEqual([]);
  });

  it("may be large: the bytes come back unchanged, also letters that a frame cuts in two", async () => {
    const { peer } = connect();
    const threadId = newId();
    const value = JSON.stringify("ä🧵日".repeat(60_000));
    expect(Buffer.byteLength(value)).toBeGreaterThan(2 * 256 * 1024);
    await put(peer, threadId, 1, value);
    const { texts } = await peer.call("saver.get", placeOf(threadId, 1));
    expect(texts.includes(value)).toBe(true);
  });

  it("have writes of tasks, by channel", async () => {
    const { peer } = connect();
    const threadId = newId();
    await put(peer, threadId, 1, '"one"');
    const writes = [
      [0, "said", "json"],
      [1, "__pregel_tasks", "json"],
    ];
    const place = placeOf(threadId, 1);
    await peer.call("saver.writes", { ...place, taskId: newId(), writes }, ['"next"', '{"node":"a"}']);
    const found = await peer.call("saver.channelWrites", { ...place, channel: "__pregel_tasks" });
    expect([found.meta, found.texts]).toEqual([{ types: ["json"] }, ['{"node":"a"}']]);
  });

  it("are gone when their thread is deleted", async () => {
    const { peer } = connect();
    const threadId = newId();
    await put(peer, threadId, 1, '"one"');
    await peer.call("saver.delete", { for: 1, threadId });
    expect((await peer.call("saver.get", placeOf(threadId, 1))).texts).toEqual([]);
  });

  it("that were read already are not asked for again", async () => {
    const { peer } = connect();
    const threadId = newId();
    await put(peer, threadId, 1, '"one"');
    const stored = (await checkpoints.get({ threadId, checkpointNs: "" }))!;
    const { peer: reader } = connect({ read: [[{ ...stored, metadata: '{"from":"memory"}' }]] });
    expect((await reader.call("saver.get", placeOf(threadId, 1))).texts).toContain('{"from":"memory"}');
    const listed = await reader.stream("saver.list", { for: 1, threadId, ns: "" });
    expect(listed[0]!.texts).toContain('{"from":"memory"}');
  });
});

describe("a write is refused", () => {
  it("once the call it is for is over", async () => {
    const { peer, grounds } = connect();
    grounds.remove(1);
    await expect(put(peer, newId(), 1, '"late"')).rejects.toMatchObject({ code: "run.lease_lost" });
  });

  it("once the run is not ours, before anything is written; the run learns of it", async () => {
    const noted: string[] = [];
    const { peer } = connect({
      requireHeld: () => {
        throw new AppError({ code: "run.lease_ended", kind: "conflict", message: "not ours" });
      },
      noteWrite: (write) => {
        write.catch(() => noted.push("failed"));
        return write;
      },
    });
    const threadId = newId();
    await expect(put(peer, threadId, 1, '"late"')).rejects.toMatchObject({ code: "run.lease_ended" });
    expect(noted).toEqual(["failed"]);
    expect(await checkpoints.get({ threadId, checkpointNs: "" })).toBeUndefined();
  });

  it("by the fence, where another attempt has the run", async () => {
    const { peer } = connect({ fence: { runId: newId(), attempt: 1 } });
    await expect(put(peer, newId(), 1, '"late"')).rejects.toMatchObject({ code: "run.lease_lost" });
  });

  it("when its texts are not as many as it says", async () => {
    const { peer } = connect();
    const meta = { ...placeOf(newId(), 1), parentId: null, refs: [], blobs: [] };
    await expect(peer.call("saver.put", meta, ["{}"])).rejects.toMatchObject({
      type: "ProtocolError",
      message: "A checkpoint came with 1 texts instead of 2.",
    });
  });
});
