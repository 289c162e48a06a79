import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createLogger } from "../../platform/logger.ts";
import { type RecordedSpan, SpanRecorder } from "./span-recorder.ts";

const logger = createLogger({ level: "silent" });
const place = { workspaceId: "w", project: "p" };

function recorder(options: Partial<ConstructorParameters<typeof SpanRecorder>[0]> = {}) {
  const taken: { project: string; spans: readonly RecordedSpan[] }[] = [];
  const subject = new SpanRecorder({
    logger,
    ingest: async (_workspace, project, spans) => {
      taken.push({ project, spans });
    },
    ...options,
  });
  return { subject, taken };
}

describe("span recorder", () => {
  test("hands spans over by project, with payloads as they were when recorded", async () => {
    const { subject, taken } = recorder();
    const inputs = { list: [1] };
    subject.record(place, "post", { id: "1", name: "a", inputs });
    inputs.list.push(2);
    subject.record({ ...place, project: "q" }, "patch", { id: "2", outputs: { big: 12n } });
    await subject.flush();
    expect(
      taken.map(({ project, spans }) => [
        project,
        spans.map((span) => [
          span.kind,
          span.record,
          Object.entries(span.payloads).map(([field, bytes]) => [field, String(bytes)]),
        ]),
      ]),
    ).toEqual([
      ["p", [["post", { id: "1", name: "a" }, [["inputs", '{"list":[1]}']]]]],
      ["q", [["patch", { id: "2" }, [["outputs", '{"big":"12"}']]]]],
    ]);
    expect(subject.stats()).toEqual({ queued: 0, queuedBytes: 0, recorded: 2, dropped: 0 });
  });

  test("drops and counts what finds no room, by number and by bytes", async () => {
    for (const options of [{ maxSpans: 3 }, { maxBytes: 3_000 }]) {
      const { subject, taken } = recorder(options);
      for (let index = 0; index < 10; index++)
        subject.record(place, "post", { id: randomUUID(), inputs: "x".repeat(1_000) });
      expect(subject.stats().dropped).toBeGreaterThanOrEqual(6);
      await subject.flush();
      expect(taken[0]!.spans.length + subject.stats().dropped).toBe(10);
      subject.record(place, "post", { id: "again" });
      await subject.flush();
      expect(taken.at(-1)!.spans).toHaveLength(1);
    }
  });

  test("never throws: not for values JSON cannot hold, not for a sink that fails", async () => {
    const { subject } = recorder({ attempts: 2, ingest: () => Promise.reject(new Error("down")) });
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    subject.record(place, "post", { id: "1", inputs: loop });
    subject.record(place, "post", { id: "2" });
    await subject.flush();
    expect(subject.stats()).toMatchObject({ dropped: 2, queued: 0 });
  });

  test("tries again what failed once, and takes nothing after it stopped", async () => {
    let calls = 0;
    const { subject } = recorder({
      ingest: async () => {
        calls += 1;
        if (calls === 1) throw new Error("once");
      },
    });
    subject.record(place, "post", { id: "1" });
    await subject.stop();
    expect([calls, subject.stats().dropped]).toEqual([2, 0]);
    subject.record(place, "post", { id: "2" });
    expect(subject.stats().dropped).toBe(1);
  });
});
