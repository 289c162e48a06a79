import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
import { listEndpoints } from "../endpoints/endpoint-store.ts";
import { exitedWith } from "./exit.ts";
import { readInstance } from "./instance-store.ts";
import { oneReplica } from "./runtime.ts";
import { Supervisor } from "./supervisor.ts";

let test: TestDatabase;
let folder: TempFolder;
beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 3 });
  folder = await createTempFolder("instance-watch");
});
afterAll(async () => {
  await test?.drop();
  await folder?.remove();
});

/** While it is set nothing can be written. */
let isAway = false;
let refusedWrites = 0;
const addresses = { database: "postgres://d", own: "http://own", traces: null };

/** A server of this runtime that was just started. */
async function launch(runtime: ScriptedRuntime) {
  const { database } = test;
  const workspaceId = await insertWorkspace(database.sql);
  const deploymentId = await insertDeployment(database.sql, workspaceId);
  const revisionId = await insertRevision(database.sql, { workspaceId, deploymentId });
  const supervisor = new Supervisor({
    ...{ database, runtime, folder: folder.path, clock: systemClock, onChange: () => {} },
    logger: createLogger({ level: "silent" }),
    secretBox: new SecretBox({ currentKey: "the key of these tests" }),
    fence: {
      signal: new AbortController().signal,
      async write(work) {
        if (!isAway) return await database.transaction(work);
        refusedWrites += 1;
        throw new AppError({ code: "database.unavailable", kind: "unavailable", message: "It is away." });
      },
    },
  });
  await supervisor.launch({
    ...{ deploymentId, workspaceId, revisionId, attempt: 1, folder: null, configPath: "langgraph.json" },
    ...{ image: null, pinned: null, resources: { memoryBytes: null, cpus: null }, scale: oneReplica },
    ...{ addresses, tracingKeyId: null },
    ...{ environment: () => ({}), secrets: [] },
  });
  const { instanceId } = runtime.started.at(-1)!;
  const ended = async () => {
    runtime.end(instanceId, exitedWith(0));
    await waitUntil(async () => (await readInstance(database.sql, instanceId))?.state === "exited", {
      ...{ what: "its end", timeoutMs: 20_000 },
    });
  };
  return { supervisor, deploymentId, instanceId, ended };
}

describe("a server with replicas", () => {
  it("says which it lost with their node, each once, and not what was said before", async () => {
    const lost = (...names: string[]) => names.map((name) => ({ name, node: "node-1" }));
    const seen = [lost("before"), lost("before", "a"), lost("a"), lost("a", "b"), []];
    class LosingRuntime extends ScriptedRuntime {
      async *observe() {
        for (const each of seen) yield { endpoints: [], ready: false, problem: "", lost: each };
      }
    }
    const { deploymentId, ended } = await launch(new LosingRuntime());
    const lines = async () => {
      const { rows } = await raw<{ message: string }>`select message from deployment_logs
        where deployment_id = ${deploymentId} and level = 'WARNING' order by id`.execute(test.database.sql);
      return rows.map(({ message }) => message);
    };
    await waitUntil(async () => (await lines()).length >= 2, { what: "both", timeoutMs: 20_000 });
    const said = (name: string) =>
      `The node node-1 does not respond. Its pod ${name} is replaced by one on another node, which continues its runs.`;
    expect(await lines()).toEqual([said("a"), said("b")]);
    await ended();
  });

  it("that was healthy says why it is not any more, and when it is again", async () => {
    const steps = ["", "its pod waits: CrashLoopBackOff", "its pod waits: CrashLoopBackOff", ""];
    const turns: PromiseWithResolvers<void>[] = steps.map(() => Promise.withResolvers());
    class AilingRuntime extends ScriptedRuntime {
      override async start(...args: Parameters<ScriptedRuntime["start"]>) {
        return { ...(await super.start(...args)), announces: false };
      }

      async *observe() {
        const [spec] = this.started;
        await this.serve(spec!);
        for (const [index, problem] of steps.entries()) {
          const ready = problem === "";
          yield {
            endpoints: [{ name: "a", host: "127.0.0.1", port: spec!.port, ready }],
            ...{ ready, problem },
          };
          await turns[index]!.promise;
        }
      }
    }
    const { deploymentId, instanceId, ended } = await launch(new AilingRuntime());
    const { sql } = test.database;
    const is = (what: string, check: () => Promise<boolean>) => waitUntil(check, { what, timeoutMs: 60_000 });
    await is("its health", async () => (await readInstance(sql, instanceId))?.state === "ready");
    const said = async (from: "revision_events" | "deployment_logs") => {
      const { rows } =
        from === "revision_events"
          ? await raw<{ message: string }>`select e.message from revision_events e
              join revisions r on r.id = e.revision_id where r.deployment_id = ${deploymentId}
              and e.kind in ('trouble', 'trouble_over') order by e.id`.execute(sql)
          : await raw<{ message: string }>`select message from deployment_logs
              where deployment_id = ${deploymentId} and message like 'The server is %' order by id`.execute(
              sql,
            );
      return rows.map(({ message }) => message);
    };
    const not = "The server is not well: its pod waits: CrashLoopBackOff.";
    expect(await said("revision_events")).toEqual([]);
    turns[0]!.resolve();
    await is("the trouble", async () => (await said("deployment_logs")).includes(not));
    for (const turn of turns) turn.resolve();
    await is("its end", async () => (await said("deployment_logs")).length === 2);
    const both = [not, "The server is well again."];
    expect([await said("revision_events"), await said("deployment_logs")]).toEqual([both, both]);
    await ended();
  });

  it("is not written about by a watch of an earlier tenure, whose write waited for the database", async () => {
    let watches = 0;
    let isOver = false;
    class MovingRuntime extends ScriptedRuntime {
      async *observe() {
        watches += 1;
        const isEarlier = watches === 1;
        if (isEarlier) isAway = true;
        try {
          const name = isEarlier ? "old" : "new";
          yield {
            endpoints: [{ name, host: "127.0.0.1", port: 1, ready: false }],
            ready: false,
            problem: "",
          };
        } finally {
          isOver ||= isEarlier;
        }
      }
    }
    const { supervisor, instanceId, ended } = await launch(new MovingRuntime());
    await waitUntil(() => refusedWrites > 0, { what: "a write that waits", timeoutMs: 60_000 });
    await supervisor.release();
    isAway = false;
    await supervisor.adopt(async () => ({ addresses, secrets: [] }));
    const shown = async () => (await listEndpoints(test.database.sql, instanceId)).map(({ name }) => name);
    const isShown = async () => (await shown()).includes("new");
    await waitUntil(isShown, { what: "the endpoint of the new watch", timeoutMs: 60_000 });
    await waitUntil(() => isOver, { what: "the end of the old watch", timeoutMs: 60_000 });
    expect(await shown()).toEqual(["new"]);
    await ended();
  });

  it("that ends asks them nothing more", async () => {
    const refusals: unknown[] = [];
    const note = (reason: unknown) => refusals.push(reason);
    process.on("unhandledRejection", note);
    class ServingRuntime extends ScriptedRuntime {
      async *observe() {
        const endpoints = [{ name: "a", host: "127.0.0.1", port: 1, ready: true }];
        yield { endpoints, ready: false, problem: "" };
      }
    }
    const { supervisor, instanceId, ended } = await launch(new ServingRuntime());
    const shown = () => listEndpoints(test.database.sql, instanceId);
    await waitUntil(async () => (await shown()).length === 1, { what: "its endpoint", timeoutMs: 20_000 });
    let isOver = false;
    const over = ended().then(() => {
      isOver = true;
    });
    while (!isOver) {
      expect(await supervisor.usages()).toEqual([]);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await over;
    process.off("unhandledRejection", note);
    expect(refusals).toEqual([]);
  });
});
