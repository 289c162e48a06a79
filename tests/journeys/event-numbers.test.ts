import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { type Frame, readEvents, readFrames } from "../support/protocol-client.ts";
import { isTerminal, type WireEvent } from "../support/protocol-events.ts";
import { protocolServer } from "../support/protocol-fixture.ts";
import { openSocket } from "../support/protocol-socket.ts";

const site = protocolServer();
const upTo = (count: number, from = 1) => Array.from({ length: count }, (_, index) => from + index);
const seqs = (events: readonly WireEvent[]) => events.map((event) => event.seq);
const over = (times: number) => (events: WireEvent[]) => events.filter(isTerminal).length >= times;

describe("numbers of the streaming protocol", () => {
  it("count from 1 without gaps through the runs of a thread, also those of other clients", async () => {
    const threadId = randomUUID();
    await site.start(threadId, "slow", { pause: 0 });
    const first = await site.eventsOf(threadId);
    expect(seqs(first)).toEqual(upTo(first.length));
    // A run whose own stream has many events lies in the same log and takes none of these numbers.
    await site.server().client.runs.wait(threadId, "slow", {
      input: { pause: 0 },
      streamMode: ["values", "updates", "debug", "tasks"],
    } as never);
    const second = await site.eventsOf(threadId, 2);
    expect(second.length).toBeGreaterThan(first.length);
    expect(seqs(second)).toEqual(upTo(second.length));
    await site.restart();
    const answer = await site.start(threadId, "asking", {});
    expect(answer.meta?.applied_through_seq).toBe(second.length);
    const third = await site.eventsOf(threadId, 3);
    expect(seqs(third)).toEqual(upTo(third.length));
    expect(third.slice(0, second.length)).toEqual(second);
  });

  it("let a client go on after the last one it saw, over SSE and over a WebSocket", async () => {
    const threadId = randomUUID();
    const started = await site.start(threadId, "slow", { pause: 0 });
    const all = await site.eventsOf(threadId);
    for (const seen of [0, 1, Math.floor(all.length / 2), all.length - 1]) {
      const rest = await readEvents(site.server().url, threadId, over(1), { since: seen });
      expect(rest).toEqual(all.slice(seen));
    }
    const half = Math.floor(all.length / 2);
    const line = await openSocket(site.server().url, `/threads/${threadId}/stream/events`);
    const restored = await line.ask("subscription.reconnect", {
      run_id: started.result!.run_id,
      last_event_id: String(half),
    });
    expect(restored).toMatchObject({
      result: { restored: true, missed_events: all.length - half },
      meta: { applied_through_seq: all.length },
    });
    await line.close();
  });

  it("go on above those that an earlier version gave out, which were places in the log", async () => {
    const threadId = randomUUID();
    await site.start(threadId, "slow", { pause: 0 });
    await site.eventsOf(threadId);
    // As the migration leaves what was written before it.
    const { sql } = site.server().database;
    await raw`update thread_events set number = null where thread_id = ${threadId}`.execute(sql);
    await raw`update threads set protocol_seq = last_seq where thread_id = ${threadId}`.execute(sql);
    const before = await site.eventsOf(threadId);
    await site.start(threadId, "slow", { pause: 0 });
    const after = await site.eventsOf(threadId, 2);
    expect(after.slice(0, before.length)).toEqual(before);
    const fresh = seqs(after.slice(before.length));
    expect(fresh[0]).toBeGreaterThan(before.at(-1)!.seq);
    expect(fresh).toEqual(upTo(fresh.length, fresh[0]));
    const since = before.at(-1)!.seq;
    expect(await readEvents(site.server().url, threadId, over(1), { since })).toEqual(
      after.slice(before.length),
    );
  });

  it("are not taken by a run that is cancelled in the queue before it began", async () => {
    const threadId = randomUUID();
    await site.start(threadId, "slow", { pause: 0 });
    await site.eventsOf(threadId);
    const { client } = site.server();
    const later = await client.runs.create(threadId, "slow", { input: { pause: 0 }, afterSeconds: 600 });
    await client.runs.cancel(threadId, later.run_id, true);
    const events = await site.eventsOf(threadId, 2);
    expect(seqs(events)).toEqual(upTo(events.length));
  });
});

describe("ids of a run's own stream", () => {
  const idsOf = (frames: readonly Frame[]) =>
    frames.filter((frame) => frame.event !== ":").map((frame) => frame.id);
  const toTheEnd = () => false;
  const post = (path: string, body: unknown) =>
    readFrames(
      `${site.server().url}${path}`,
      { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
      toTheEnd,
    );
  const join = (path: string, lastEventId?: string) =>
    readFrames(
      `${site.server().url}${path}/stream`,
      { headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId } },
      toTheEnd,
    );
  const run = { assistant_id: "slow", input: { pause: 0 }, stream_mode: ["values", "updates"] };
  const runIdIn = (frames: readonly Frame[]) => (frames[0]!.data as { run_id: string }).run_id;

  it("count from 0, for every run of a thread anew", async () => {
    const { client } = site.server();
    const { thread_id: threadId } = await client.threads.create();
    for (const _ of [1, 2]) {
      const frames = await post(`/threads/${threadId}/runs/stream`, run);
      expect(frames[0]!.event).toBe("metadata");
      expect(idsOf(frames)).toEqual(upTo(frames.length, 0).map(String));
    }
  });

  it("name what a client has seen: a join goes on with the next one", async () => {
    const { client } = site.server();
    const { thread_id: threadId } = await client.threads.create();
    await post(`/threads/${threadId}/runs/stream`, run);
    const all = await post(`/threads/${threadId}/runs/stream`, run);
    const path = `/threads/${threadId}/runs/${runIdIn(all)}`;
    expect(await join(path, "-1")).toEqual(all);
    expect(await join(path, "0")).toEqual(all.slice(1));
    expect(await join(path, "3")).toEqual(all.slice(4));
    expect(await join(path, String(all.length - 1))).toEqual([]);
    expect(await join(path, String(all.length + 40))).toEqual([]);
    expect(await join(path)).toEqual([]);
  });

  it("are there for a run without a thread only when it is joined", async () => {
    const frames = await post("/runs/stream", { ...run, on_completion: "keep" });
    expect(new Set(idsOf(frames))).toEqual(new Set([undefined]));
    const joined = await join(`/runs/${runIdIn(frames)}`, "1");
    expect(idsOf(joined)).toEqual(upTo(frames.length - 2, 2).map(String));
  });
});
