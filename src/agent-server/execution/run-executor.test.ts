import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { newId } from "../../platform/ids.ts";
import { createLogger } from "../../platform/logger.ts";
import { EventLog } from "../delivery/event-log.ts";
import { ThreadFeed } from "../delivery/thread-feed.ts";
import { GraphRegistry } from "../graphs/graph-registry.ts";
import type { GraphExecution, GraphPart, RunnableGraph } from "../graphs/graph-runtime.ts";
import type { StateSnapshot } from "../graphs/state-snapshot.ts";
import { claimDueRuns, insertNewRuns } from "../runs/run-store.ts";
import { RunExecutor } from "./run-executor.ts";
import type { RunLease } from "./run-leases.ts";

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

/** Values that count how often they are read. */
function countedValues() {
  const seen = { times: 0 };
  const values = {
    get answer() {
      seen.times += 1;
      return 42;
    },
  };
  return { seen, values };
}

/** A runtime behind the port that yields these parts. */
function graphsYielding(parts: readonly GraphPart[], state: Partial<StateSnapshot> = {}) {
  const execution: GraphExecution = {
    async *parts() {
      yield* parts;
    },
    state: async () =>
      ({ values: {}, next: [], tasks: [], config: {}, ...state }) as unknown as StateSnapshot,
    settled: async () => undefined,
    failure: undefined,
    transformers: [],
    tracesSent: async () => undefined,
  };
  const graph = { graphId: "counted", start: async () => execution } as unknown as RunnableGraph;
  return new GraphRegistry(new Map([["counted", graph]]));
}

async function execute(graphs: ReturnType<typeof graphsYielding>, stop = new AbortController()) {
  const { database } = test;
  const run = {
    runId: newId(),
    threadId: newId(),
    workspaceId: newId(),
    assistantId: newId(),
    graphId: "counted",
    strategy: "enqueue",
    metadata: {},
    kwargsJson: JSON.stringify({ config: {}, stream_mode: ["values"] }),
    temporary: false,
    createThread: true,
    claim: false,
    delaySeconds: 0,
    threadMetadata: {},
    threadConfig: {},
    threadTtl: null,
    speaksProtocol: false,
  };
  await insertNewRuns(database, [run], newId(), 30);
  const [claimed] = await claimDueRuns(database, {
    limit: 1,
    owner: newId(),
    leaseSeconds: 30,
    graphIds: ["counted"],
  });
  const feed = new ThreadFeed(database);
  const events = new EventLog(database, feed);
  const logger = createLogger({ level: "silent" });
  const executor = new RunExecutor({ graphs, events, feed, logger, serverMetadata: {} });
  const lease = { require: () => undefined } as unknown as RunLease;
  return executor.execute(claimed!, stop, lease);
}

function valuesPart(payload: unknown, data?: string): GraphPart {
  return {
    events: data === undefined ? [] : [{ name: "values", namespace: "", data }],
    invites: false,
    chunk: { kind: "chunk", namespace: [], mode: "values", payload },
  };
}

describe("a run that is handed back", () => {
  it("leaves what it had to tell in the log, though nobody was reading", async () => {
    const stop = new AbortController();
    const told = valuesPart({ step: 1 }, '{"step":1}');
    const parts = {
      *[Symbol.iterator]() {
        yield told;
        stop.abort("shutdown");
        throw new Error("stopped");
      },
    };
    await expect(execute(graphsYielding(parts as unknown as GraphPart[]), stop)).rejects.toThrow("stopped");
    const { rows } = await raw<{ name: string }>`select name from thread_events
      where data = '{"step":1}' and family = 'run'`.execute(test.database.sql);
    expect(rows).toEqual([{ name: "values" }]);
  });
});

describe("the last values of a run", () => {
  it("are the text that was streamed, and not written again", async () => {
    const { seen, values } = countedValues();
    const result = await execute(graphsYielding([valuesPart(values, '{"answer":42}')]));
    expect(result).toMatchObject({ resultJson: '{"answer":42}', outcome: { valuesJson: '{"answer":42}' } });
    expect(seen.times).toBe(0);
  });

  it("are written where no client asked for them", async () => {
    const { values } = countedValues();
    const result = await execute(
      graphsYielding([valuesPart({ answer: 1 }, '{"answer":1}'), valuesPart(values)]),
    );
    expect(result).toMatchObject({ resultJson: '{"answer":42}', outcome: { valuesJson: '{"answer":42}' } });
  });

  it("are answered with what the graph asks beside them", async () => {
    const interrupts = [{ id: "i", value: "May I?" }];
    const waiting = { next: ["ask"], tasks: [{ id: "t", name: "ask", interrupts }] };
    for (const values of [{ answer: 42 }, {}]) {
      const result = await execute(graphsYielding([], { ...waiting, values } as unknown as StateSnapshot));
      expect(JSON.parse(result.resultJson)).toEqual({ ...values, __interrupt__: interrupts });
      expect(result.outcome).toMatchObject({ status: "interrupted", valuesJson: JSON.stringify(values) });
    }
  });
});
