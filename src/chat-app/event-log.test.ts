import { describe, expect, it } from "vitest";
import type { SseFrame } from "../platform/http/server/sse.ts";
import { EventLog } from "./event-log.ts";

const roomy = { maxEvents: 1_000, maxEventBytes: 1_000_000 };
const all = { channels: ["values", "custom"] };

function logOf(limits = roomy): { log: EventLog; add(count: number): void } {
  const log = new EventLog(limits, "origin");
  const add = (count: number) => {
    for (let i = 0; i < count; i++) {
      log.append({ method: "values", params: { namespace: [], timestamp: 0, data: { n: log.lastSeq + 1 } } });
    }
  };
  return { log, add };
}

/** Reads until `count` frames have come. */
async function take(log: EventLog, count: number, since = 0): Promise<SseFrame[]> {
  const stop = new AbortController();
  const frames: SseFrame[] = [];
  for await (const batch of log.follow(all, since, stop.signal)) {
    frames.push(...batch);
    if (frames.length >= count) break;
  }
  stop.abort();
  return frames;
}

const numbers = (frames: SseFrame[]) => frames.map(({ data }) => (JSON.parse(data) as { seq: number }).seq);
const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, at) => first + at);

describe("EventLog", () => {
  it("replays, then delivers live, without a gap and in order", async () => {
    const { log, add } = logOf();
    add(500);
    const reading = take(log, 700);
    add(100);
    await Promise.resolve();
    add(100);
    expect(numbers(await reading)).toEqual(upTo(700));
  });

  it("gives every reader all events, whenever it came", async () => {
    const { log, add } = logOf();
    const early = take(log, 10);
    add(10);
    expect(numbers(await early)).toEqual(upTo(10));
    expect(numbers(await take(log, 10))).toEqual(upTo(10));
    expect(numbers(await take(log, 4, 6))).toEqual(upTo(10, 7));
  });

  it("waits for a number that is still to come", async () => {
    const { log, add } = logOf();
    add(3);
    const reading = take(log, 1, 5);
    add(4);
    expect(numbers(await reading)[0]).toBe(6);
  });

  it("is bounded by events and by bytes, and says what can no longer be replayed", async () => {
    for (const limits of [
      { maxEvents: 10, maxEventBytes: 1_000_000 },
      { maxEvents: 1_000, maxEventBytes: 1_500 },
    ]) {
      const { log, add } = logOf(limits);
      add(100);
      const [gap, next] = await take(log, 2, 5);
      const sent = JSON.parse(gap!.data);
      expect(sent.params.data.name).toBe("replay.truncated");
      expect(numbers([next!])[0]).toBe(sent.params.data.payload.dropped_through_seq + 1);
      expect(numbers(await take(log, 2)).at(-1)).toBe(100);
    }
  });

  it("keeps an event larger than the bound", async () => {
    const { log, add } = logOf({ maxEvents: 10, maxEventBytes: 10 });
    add(2);
    expect(numbers(await take(log, 1))).toEqual([2]);
  });

  it("goes on counting after it was cleared", async () => {
    const { log, add } = logOf();
    add(5);
    log.clear();
    add(2);
    expect(numbers(await take(log, 2))).toEqual([6, 7]);
  });

  it("ends its readers when it closes or they leave", async () => {
    const { log } = logOf();
    const reading = take(log, 1);
    log.close();
    expect(await reading).toEqual([]);
    const { log: other } = logOf();
    const stop = new AbortController();
    const frames = other.follow(all, 0, stop.signal).next();
    stop.abort();
    expect((await frames).done).toBe(true);
  });

  it("has event ids no other log has", async () => {
    const { log, add } = logOf();
    add(1);
    expect((await take(log, 1))[0]!.id).toBe("origin-1");
  });
});
