import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTracesApp, samplePost, type TracesApp } from "../../../../../tests/support/traces-app.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { createLogger } from "../../../../platform/logger.ts";
import { listRetentions } from "../../../projects/settings-store.ts";
import { monthOf, monthOfName, monthsToPrepare } from "../partitions/partition.ts";
import { Partitions } from "../partitions/partition-service.ts";
import { listPartitions } from "../partitions/partition-store.ts";
import { isPartitionExpired } from "./expired-partition.ts";
import { PostgresRunRemoval } from "./postgres-run-removal.ts";

const now = new Date("2026-11-15T00:00:00Z");
const never = new AbortController().signal;

describe("months", () => {
  test("a time belongs to its month; odd times to the default partition", () => {
    expect(monthOf("2026-12-31T23:59:59.999999Z", now)).toEqual({
      name: "trace_runs_p202612",
      from: "2026-12-01",
      to: "2027-01-01",
    });
    expect(monthOf("2027-02-01T00:00:00.000000Z", now)).toBeNull();
    expect(monthOf("1970-01-01T00:00:00.000000Z", now)).toBeNull();
    expect(monthsToPrepare(new Date("2026-12-31T00:00:00Z")).map((month) => month.name)).toEqual([
      "trace_runs_p202612",
      "trace_runs_p202701",
    ]);
    expect(monthOfName("trace_runs_default")).toBeNull();
  });

  test("a partition is past its time when that holds for every project in it", () => {
    const retentions = new Map([
      ["a", { workspace_id: "w", project_id: "a", retention_days: 10 }],
      ["b", { workspace_id: "w", project_id: "b", retention_days: 60 }],
    ]);
    const expired = (projects: string[]) =>
      isPartitionExpired("trace_runs_p202609", projects, retentions, now);
    expect([expired(["a"]), expired(["a", "b"]), expired(["a", "c"]), expired([])]).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });
});

describe("retention", () => {
  let subject: TracesApp;
  beforeAll(async () => {
    subject = await createTracesApp();
  });
  afterAll(() => subject.stop());

  async function keep(session_name: string, start_time: string): Promise<string> {
    const post = samplePost({ session_name, start_time });
    expect((await subject.app.call("POST", "/api/v1/runs", { body: post })).status).toBe(202);
    return post.id;
  }

  test("is off by default; a project's days come before the workspace's", async () => {
    const { database } = subject.testDatabase;
    const clock = { now: () => now };
    const logger = createLogger({ level: "silent" });
    const removal = new PostgresRunRemoval({
      ...{ database, logger },
      partitions: new Partitions({ database, clock, logger }),
    });
    const apply = async () => removal.removeExpired(await listRetentions(database.sql), now, never);
    const [kept, old, recent, ancient] = [
      await keep("keeps", "2026-05-01T00:00:00.000000Z"),
      await keep("forgets", "2026-05-01T00:00:00.000000Z"),
      await keep("forgets", "2026-11-14T00:00:00.000000Z"),
      await keep("forgets", "2026-03-01T00:00:00.000000Z"),
    ];
    await subject.app.call("POST", "/api/v1/feedback", { body: { run_id: ancient, key: "k", score: 1 } });
    await apply();
    expect(await subject.run(ancient)).toBeDefined();

    expect(
      (await subject.app.call("PATCH", "/api/v1/settings", { body: { retention_days: 30 } })).body,
    ).toMatchObject({ retention_days: 30 });
    const [project] = (await subject.app.call("GET", "/api/v1/sessions?name=keeps")).body as { id: string }[];
    await subject.app.call("PATCH", `/api/v1/sessions/${project!.id}`, { body: { retention_days: 3_650 } });
    await apply();
    expect([await subject.run(ancient), await subject.run(old)]).toEqual([undefined, undefined]);
    expect([await subject.run(kept), await subject.run(recent)]).toMatchObject([
      { id: kept },
      { id: recent },
    ]);
    const partitions = await listPartitions(database.sql);
    expect(partitions).not.toContain("trace_runs_p202603");
    expect(partitions).toContain("trace_runs_p202605");
    const { rows } = await raw`select from trace_feedback where run_id = ${ancient}`.execute(database.sql);
    expect(rows).toEqual([]);
    // A dropped month is made again by the next run of it.
    const again = await keep("keeps", "2026-03-02T00:00:00.000000Z");
    expect(await subject.run(again)).toMatchObject({ id: again });
  });

  test("rows of a month that waited in the default partition move when it is made", async () => {
    const { database } = subject.testDatabase;
    const id = await keep("keeps", "2040-06-01T00:00:00.000000Z");
    const later = { now: () => new Date("2040-05-01T00:00:00Z") };
    const partitions = new Partitions({
      database,
      clock: later,
      logger: createLogger({ level: "silent" }),
    });
    await partitions.prepare();
    const { rows } = await raw<{
      place: string;
    }>`select tableoid::regclass::text as place from trace_runs where id = ${id}`.execute(database.sql);
    expect(rows).toEqual([{ place: "trace_runs_p204006" }]);
  });
});

describe("the sweep", () => {
  test("folds what was parked while its run was being written, and finishes deletions", async () => {
    const subject = await createTracesApp();
    try {
      const { sql } = subject.testDatabase.database;
      const post = samplePost();
      await subject.app.call("POST", "/api/v1/runs", { body: post });
      await raw`insert into trace_parked_usage (run_id, workspace_id, usage)
        values (${post.id}, ${subject.app.workspaceId}, array[1, 2, 3, 0, 0, 0.5, 0, 0, 1])`.execute(sql);
      const early = randomUUID();
      await subject.app.call("POST", "/api/v1/feedback", { body: { run_id: early, key: "k", score: 1 } });
      await subject.app.call("POST", "/api/v1/runs", { body: samplePost({ id: early }) });
      const sweep = subject.traces.recurringJobs.find((job) => job.kind === "traces.sweep")!;
      await sweep.handler({ signal: never } as Parameters<typeof sweep.handler>[0]);
      expect(await subject.run(post.id)).toMatchObject({ total_tokens: 3, prompt_tokens: 1 });
      const [project] = (await subject.app.call("GET", "/api/v1/sessions?name=sample&include_stats=true"))
        .body as { id: string; feedback_stats: object }[];
      expect(project?.feedback_stats).toMatchObject({ k: { n: 1, avg: 1 } });
      await raw`update trace_projects set deleted_at = now() where id = ${project!.id}`.execute(sql);
      await sweep.handler({ signal: never } as Parameters<typeof sweep.handler>[0]);
      const { rows } = await raw`select from trace_runs where project_id = ${project!.id}`.execute(sql);
      expect(rows).toEqual([]);
    } finally {
      await subject.stop();
    }
  });
});
