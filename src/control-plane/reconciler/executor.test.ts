import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertDeployment, insertRevision, insertWorkspace } from "../../../tests/support/deployment-rows.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { AppError } from "../../platform/errors.ts";
import { createLogger } from "../../platform/logger.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { leaseOver } from "../desired-state/reconcile-fence.ts";
import type { Revision } from "../desired-state/revision.ts";
import { insertLogs } from "../logs/log-store.ts";
import type { InstanceState } from "../runtimes/instance.ts";
import { insertInstance, moveInstance, readInstance } from "../runtimes/instance-store.ts";
import type { Supervisor } from "../runtimes/supervisor.ts";
import { Executor } from "./executor.ts";
import type { LaunchPlanner } from "./launch-planner.ts";
import type { Operation } from "./plan.ts";
import type { SleepKeeper } from "./sleep-keeper.ts";

let test: TestDatabase;
const workspaceId = randomUUID();
let deployment: Deployment;
let asked: string[];
/** What a launch does. */
let onLaunch: () => Promise<void>;
/** Whether what was built is in the storage only. */
let isElsewhere: boolean;
/** How long that takes. */
let fetching: (signal: AbortSignal) => Promise<void>;
let lease: AbortController;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 3 });
  await insertWorkspace(test.database.sql, workspaceId);
});
afterAll(() => test?.drop());

beforeEach(async () => {
  asked = [];
  onLaunch = async () => {};
  isElsewhere = false;
  fetching = async () => {};
  lease = new AbortController();
  deployment = await newDeployment("d");
});

async function newDeployment(name: string): Promise<Deployment> {
  const { sql } = test.database;
  const id = await insertDeployment(sql, workspaceId, name);
  const { rows } = await raw<Deployment>`select * from deployments where id = ${id}`.execute(sql);
  return rows[0]!;
}

let number = 0;
function newRevision(status: string): Promise<string> {
  number += 1;
  return insertRevision(test.database.sql, { workspaceId, deploymentId: deployment.id, number, status });
}

async function newInstance(revisionId: string, state: InstanceState): Promise<string> {
  const { sql } = test.database;
  const id = randomUUID();
  const row = {
    ...{ id, deployment_id: deployment.id, revision_id: revisionId, runtime: "process", attempt: 1, port: 1 },
    ...{ log_path: "", database_hash: "", tracing_key_id: null, secret_sealed: null },
  };
  await insertInstance(sql, row, new Date());
  if (state !== "starting") await moveInstance(sql, id, { from: ["starting"], to: state }, new Date());
  return id;
}

/** The real database; what starts servers and builds only notes that it was asked. */
function execute(operation: Operation): Promise<void> {
  const supervisor = {
    launch: async () => {
      asked.push("launch");
      await onLaunch();
    },
    stop: async (id: string) => void asked.push(`stop ${id}`),
    kill: async (id: string) => void asked.push(`kill ${id}`),
    lastProbe: () => "nothing listens on its port yet",
  } as unknown as Supervisor;
  const executor = new Executor({
    fence: { write: (work) => test.database.transaction(work), signal: lease.signal },
    ...{ database: test.database, clock: systemClock, logger: createLogger({ level: "silent" }), supervisor },
    launches: {
      plan: async (...[, , , { onFetch, signal }]: Parameters<LaunchPlanner["plan"]>) => {
        if (isElsewhere) await onFetch?.();
        await fetching(signal);
        return {};
      },
    } as unknown as LaunchPlanner,
    sleep: {
      execute: async (_deployment: Deployment, { kind }: Operation) => void asked.push(kind),
    } as unknown as SleepKeeper,
    forgetRoute: () => asked.push("forget the route"),
    urlOf: ({ slug }) => `http://here/d/${slug}`,
    tracing: { removeProject: async (_workspace, name) => void asked.push(`remove the project ${name}`) },
    purge: async () => void asked.push("purge"),
  });
  return executor.execute(deployment, operation);
}

async function revision(id: string): Promise<Revision> {
  const { rows } = await raw<Revision>`select * from revisions where id = ${id}`.execute(test.database.sql);
  return rows[0]!;
}

async function active(): Promise<Pick<Deployment, "active_revision_id" | "previous_revision_id">> {
  const { rows } = await raw<Deployment>`select active_revision_id, previous_revision_id from deployments
    where id = ${deployment.id}`.execute(test.database.sql);
  return rows[0]!;
}

async function serve(revisionId: string, previousId: string | null = null): Promise<void> {
  await raw`update deployments set active_revision_id = ${revisionId}, previous_revision_id = ${previousId}
    where id = ${deployment.id}`.execute(test.database.sql);
  deployment = { ...deployment, active_revision_id: revisionId, previous_revision_id: previousId };
}

async function log(revisionId: string, lines: string[]): Promise<void> {
  const place = { deploymentId: deployment.id, revisionId, kind: "deploy" } as const;
  const rows = lines.map((message) => ({ at: new Date(), level: "INFO" as const, message }));
  await insertLogs(test.database.sql, place, rows);
}

describe("a switch", () => {
  it("makes a revision whose server is ready the one that serves, and remembers the one before", async () => {
    const before = await newRevision("DEPLOYED");
    await serve(before);
    const next = await newRevision("DEPLOYING");
    await execute({ kind: "switch", revisionId: next, instanceId: await newInstance(next, "ready") });
    expect(await active()).toEqual({ active_revision_id: next, previous_revision_id: before });
    expect(await revision(next)).toMatchObject({
      status: "DEPLOYED",
      status_message: `Serving at http://here/d/${deployment.slug}`,
    });
    expect(asked).toEqual(["forget the route"]);
  });

  it.each([
    ["its server is not ready any more", "DEPLOYING", "draining"],
    ["the revision was interrupted meanwhile", "INTERRUPTED", "ready"],
  ] as const)("does nothing when %s", async (_why, status, state) => {
    const before = await newRevision("DEPLOYED");
    await serve(before);
    const next = await newRevision(status);
    const instanceId = await newInstance(next, "ready");
    if (state === "draining") {
      await moveInstance(test.database.sql, instanceId, { from: ["ready"], to: state }, new Date());
    }
    await execute({ kind: "switch", revisionId: next, instanceId });
    expect(await active()).toEqual({ active_revision_id: before, previous_revision_id: null });
    expect((await revision(next)).status).toBe(status);
  });
});

describe("a start that waits for the storage", () => {
  const eventsOf = async (id: string) =>
    (await raw`select kind from revision_events where revision_id = ${id}`.execute(test.database.sql)).rows;
  beforeEach(() => {
    isElsewhere = true;
  });

  it("says so once, however often it is tried", async () => {
    onLaunch = async () => {
      throw new AppError({ code: "blob.unreachable", kind: "unavailable", message: "away", retryable: true });
    };
    const next = await newRevision("DEPLOYING");
    for (let times = 0; times < 2; times += 1) {
      await expect(execute({ kind: "start", revisionId: next, attempt: 1 })).rejects.toThrow("away");
    }
    expect(await eventsOf(next)).toEqual([{ kind: "fetch" }]);
    expect(await revision(next)).toMatchObject({
      status: "DEPLOYING",
      condition: null,
      status_message: expect.stringContaining("Waiting for the storage"),
    });
  });

  it("of what served is a restart, which ends when it has recovered", async () => {
    const serving = await newRevision("DEPLOYED");
    await serve(serving);
    await execute({ kind: "start", revisionId: serving, attempt: 1 });
    expect(await revision(serving)).toMatchObject({ status: "DEPLOYED", condition: "restarting" });
    expect(asked).toEqual(["launch"]);
  });
});

describe("a failed start", () => {
  it("ends the revision with the reason, the last look and the project's own last lines", async () => {
    const failed = await newRevision("DEPLOYING");
    const instanceId = await newInstance(failed, "starting");
    await log(failed, ["61 migrations applied", "Cannot find module './agent.js'", "1 migration applied"]);
    await execute({ kind: "fail", revisionId: failed, instanceId, reason: "It did not become healthy." });
    expect(await revision(failed)).toMatchObject({
      status: "DEPLOY_FAILED",
      status_message:
        "It did not become healthy. Last look: nothing listens on its port yet.\nIts last lines:\nCannot find module './agent.js'",
      failure: { reason: "Cannot find module './agent.js'", output: ["Cannot find module './agent.js'"] },
    });
    expect(asked).toEqual([`stop ${instanceId}`]);
  });

  it("of a graph that cannot be loaded shows its place and nothing of the log", async () => {
    const failed = await newRevision("DEPLOYING");
    const instanceId = await newInstance(failed, "starting");
    await log(failed, ["Serving ", "GET /ok 200"]);
    const broken = ["loading the file failed: Error: no key (/srv/project/src/model.ts, line 3)."];
    const reason = `The server cannot load a graph:\n  agent: ${broken[0]}`;
    await execute({ kind: "fail", revisionId: failed, instanceId, reason, broken });
    expect(await revision(failed)).toMatchObject({
      status_message: reason,
      failure: { file: "src/model.ts", line: 3, reason: "no key." },
    });
  });

  it("of what was to be deployed fails the revision; of what serves it is tried again", async () => {
    onLaunch = async () => {
      throw new Error("no such image");
    };
    const next = await newRevision("DEPLOYING");
    await execute({ kind: "start", revisionId: next, attempt: 1 });
    expect(await revision(next)).toMatchObject({ status: "DEPLOY_FAILED", status_message: "no such image" });

    const serving = await newRevision("DEPLOYED");
    await serve(serving);
    await expect(execute({ kind: "start", revisionId: serving, attempt: 1 })).rejects.toThrow(
      "no such image",
    );
    expect((await revision(serving)).status).toBe("DEPLOYED");
  });

  it("that may pass by itself is tried again", async () => {
    onLaunch = async () => {
      throw new AppError({ code: "database.unavailable", kind: "unavailable", message: "away" });
    };
    const next = await newRevision("DEPLOYING");
    await expect(execute({ kind: "start", revisionId: next, attempt: 1 })).rejects.toThrow("away");
    expect((await revision(next)).status).toBe("DEPLOYING");
  });
});

describe("a restart of what serves", () => {
  it.each([
    [2, "restarting", "The server ended and is being started again. Start number 2."],
    [5, "crash_loop", "Crash loop: the server keeps ending. Start number 5."],
  ] as const)("number %i shows on the revision", async (attempt, condition, message) => {
    const serving = await newRevision("DEPLOYED");
    await serve(serving);
    await log(serving, ["out of luck"]);
    await execute({ kind: "start", revisionId: serving, attempt });
    expect(await revision(serving)).toMatchObject({
      ...{ status: "DEPLOYED", condition, status_message: `${message} Its last lines:\nout of luck` },
    });
    expect(asked).toEqual(["launch"]);
  });
});

describe("a way back", () => {
  it("gives the place to the revision before, once", async () => {
    const before = await newRevision("DEPLOYED");
    const died = await newRevision("DEPLOYED");
    await serve(died, before);
    const operation = {
      kind: "roll_back",
      revisionId: died,
      toRevisionId: before,
      reason: "It died.",
    } as const;
    await execute(operation);
    expect(await active()).toEqual({ active_revision_id: before, previous_revision_id: null });
    const { status, status_message: message } = await revision(died);
    expect([status, message]).toEqual([
      "DEPLOY_FAILED",
      expect.stringMatching(/^It died\. The previous revision/),
    ]);

    await serve(await newRevision("DEPLOYED"), died);
    await execute(operation);
    expect((await active()).previous_revision_id).toBe(died);
  });
});

describe("servers", () => {
  it("are drained, and taken back", async () => {
    const serving = await newRevision("DEPLOYED");
    const instanceId = await newInstance(serving, "ready");
    await execute({ kind: "drain", instanceId });
    expect((await readInstance(test.database.sql, instanceId))?.state).toBe("draining");
    await execute({ kind: "undrain", instanceId });
    expect((await readInstance(test.database.sql, instanceId))?.state).toBe("ready");
    expect(asked).toEqual(["forget the route"]);
  });

  it("hand over to a newer one only while they are ready", async () => {
    const serving = await newRevision("DEPLOYED");
    const instanceId = await newInstance(serving, "ready");
    await execute({ kind: "hand_over", revisionId: serving, instanceId });
    await execute({ kind: "hand_over", revisionId: serving, instanceId });
    const { rows } = await raw`select kind from revision_events where revision_id = ${serving}`.execute(
      test.database.sql,
    );
    expect(rows).toEqual([{ kind: "handed_over" }]);
    expect(asked).toEqual(["forget the route"]);
  });
});

describe("a removal", () => {
  const deletedAt = async (at: Date | null) => {
    await raw`update deployments set deleted_at = ${at} where id = ${deployment.id}`.execute(
      test.database.sql,
    );
  };
  const interrupt = (revisionId: string) =>
    execute({ kind: "interrupt", revisionId, message: "The deployment was deleted." });

  it("interrupts what is on its way", async () => {
    const waiting = await newRevision("QUEUED");
    await deletedAt(new Date());
    await interrupt(waiting);
    expect((await revision(waiting)).status).toBe("INTERRUPTED");
  });

  it("interrupts nothing of what is wanted again", async () => {
    const waiting = await newRevision("QUEUED");
    await deletedAt(new Date());
    let interrupted: Promise<void> | undefined;
    // It waits for the change that revives it, and looks then.
    await test.database.transaction(async (tx) => {
      await raw`update deployments set deleted_at = null where id = ${deployment.id}`.execute(tx);
      interrupted = interrupt(waiting);
      await waitUntil(
        async () =>
          (
            await raw`select 1 from pg_stat_activity where datname = current_database()
              and wait_event_type = 'Lock'`.execute(test.database.sql)
          ).rows.length > 0,
        { what: "the removal to wait", timeoutMs: 30_000 },
      );
    });
    await interrupted;
    expect((await revision(waiting)).status).toBe("QUEUED");
  });
});

describe("the traces of a deleted deployment", () => {
  it("are removed, but not when a new deployment has taken the name", async () => {
    await raw`update deployments set deleted_at = now() where id = ${deployment.id}`.execute(
      test.database.sql,
    );
    await execute({ kind: "remove_traces" });
    expect(asked).toEqual([`remove the project ${deployment.name}`]);

    const successor = await newDeployment("e");
    await raw`update deployments set name = ${deployment.name} where id = ${successor.id}`.execute(
      test.database.sql,
    );
    await execute({ kind: "remove_traces" });
    expect(asked).toHaveLength(1);
  });
});

it("gives up fetching when another process has the lease, and blames nobody", async () => {
  const next = await newRevision("DEPLOYING");
  const begun = Promise.withResolvers<void>();
  fetching = (signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      begun.resolve();
    });
  const starting = execute({ kind: "start", revisionId: next, attempt: 1 });
  await begun.promise;
  lease.abort(leaseOver());
  await expect(starting).rejects.toMatchObject({ code: "deployment.lease_lost" });
  expect(await revision(next)).toMatchObject({ status: "DEPLOYING" });
  expect(asked).toEqual([]);
});
