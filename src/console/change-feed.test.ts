import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../tests/support/components/wait-until.ts";
import { type RawBuilder, raw } from "../platform/db/raw.ts";
import { createLogger } from "../platform/logger.ts";
import { ChangeFeed } from "./change-feed.ts";
import { type ChangeTopics, changeTopics } from "./change-topic.ts";

const scope = { workspaceId: "w1", userId: "u1" };
const logger = createLogger({ level: "silent" });

function marks() {
  const values = new Map<string, string>();
  const asked = new Map<string, number>();
  const topics = Object.fromEntries(
    changeTopics.map((topic) => [
      topic,
      {
        perUser: topic === "connections",
        mark: async ({ workspaceId }: { workspaceId: string }) => {
          const key = `${topic} ${workspaceId}`;
          asked.set(key, (asked.get(key) ?? 0) + 1);
          const value = values.get(key) ?? "";
          if (value === "broken") throw new Error("the database is away");
          return value;
        },
      },
    ]),
  ) as unknown as ChangeTopics;
  return { topics, set: (key: string, value: string) => values.set(key, value), asked };
}

/** Reads a stream in the background; `stop` ends it and waits for that. */
function listen(frames: (signal: AbortSignal) => AsyncGenerator<{ event: string; data: string }[]>) {
  const stop = new AbortController();
  const heard: string[] = [];
  const done = (async () => {
    for await (const batch of frames(stop.signal)) {
      for (const { event, data } of batch) {
        heard.push(event === "change" ? (JSON.parse(data) as { topic: string }).topic : event);
      }
    }
  })();
  return {
    heard,
    hears: (what: string) =>
      waitUntil(() => heard.includes(what) || undefined, { what: `the hint ${what}`, timeoutMs: 10_000 }),
    async stop() {
      stop.abort();
      await done;
    },
  };
}

describe("the feed", () => {
  it("hints at what has changed, to whom it concerns, and is quiet otherwise", async () => {
    const { topics, set } = marks();
    const feed = new ChangeFeed({ topics, logger, pollMs: 10 });
    const one = listen(feed.follow(scope, ["deployments", "traces"]));
    const other = listen(feed.follow({ ...scope, workspaceId: "w2" }, ["deployments"]));
    await one.hears("ready");
    await other.hears("ready");
    set("exports w1", "2");
    set("deployments w1", "2");
    await one.hears("deployments");
    set("deployments w2", "2");
    await other.hears("deployments");
    expect(one.heard).toEqual(["ready", "deployments"]);
    expect(other.heard).toEqual(["ready", "deployments"]);
    await one.stop();
    await other.stop();
  });

  it("asks once for everybody in a workspace, and not at all when nobody listens", async () => {
    const feed = new ChangeFeed({ topics: marks().topics, logger, pollMs: 10 });
    const first = listen(feed.follow(scope, ["deployments", "connections"]));
    const second = listen(feed.follow({ ...scope, userId: "u2" }, ["deployments", "connections"]));
    await first.hears("ready");
    await second.hears("ready");
    // One for the deployments, one per user for the connections.
    expect(feed.watching()).toBe(3);
    await first.stop();
    expect(feed.watching()).toBe(2);
    await second.stop();
    expect(feed.watching()).toBe(0);
  });

  it("says that something may have changed when it could not look for a while", async () => {
    const { topics, set, asked } = marks();
    const feed = new ChangeFeed({ topics, logger, pollMs: 5 });
    const listener = listen(feed.follow(scope, ["exports"]));
    await listener.hears("ready");
    const before = asked.get("exports w1")!;
    set("exports w1", "broken");
    await waitUntil(() => asked.get("exports w1")! > before + 1 || undefined, {
      what: "asking to fail",
      timeoutMs: 10_000,
    });
    set("exports w1", "");
    await listener.hears("exports");
    await listener.stop();
  });

  it("refuses more listeners than it can bear, and takes new ones when others have gone", async () => {
    const feed = new ChangeFeed({
      topics: marks().topics,
      logger,
      pollMs: 10,
      maxListenersPerWorkspace: 1,
    });
    const first = listen(feed.follow(scope, ["traces"]));
    await first.hears("ready");
    expect(() => feed.follow(scope, ["traces"])).toThrow("Too many pages");
    const elsewhere = listen(feed.follow({ ...scope, workspaceId: "w2" }, ["traces"]));
    await elsewhere.hears("ready");
    await first.stop();
    const next = listen(feed.follow(scope, ["traces"]));
    await next.hears("ready");
    await next.stop();
    await elsewhere.stop();
  });

  it("ends after a while, so that a revoked key is noticed", async () => {
    const feed = new ChangeFeed({ topics: marks().topics, logger, pollMs: 10, maxAgeMs: 30 });
    const events: string[] = [];
    for await (const batch of feed.follow(scope, ["traces"])(new AbortController().signal)) {
      events.push(...batch.map(({ event }) => event));
    }
    expect(events).toEqual(["ready"]);
    expect(feed.watching()).toBe(0);
  });
});

describe("GET /v2/events", async () => {
  const { createTestApp } = await import("../../tests/support/app.ts");
  let app: Awaited<ReturnType<typeof createTestApp>>;
  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app?.stop());

  /** What changes, and the hint that follows. */
  const changes: [topic: string, make: () => Promise<unknown>][] = [
    ["settings", () => app.call("POST", "/v2/api-keys", { body: { name: "one more" } })],
    ["traces", () => postRun()],
    ["threads", () => app.call("POST", "/threads", { body: {} })],
    [
      "deployments",
      () =>
        app.call("POST", "/v2/deployments", {
          body: {
            name: "empty",
            source: "internal_source",
            source_config: {},
            source_revision_config: {},
          },
        }),
    ],
  ];

  /** Rows as another process would write them: without a bucket to check or a run to export. */
  const destinationId = "0198a000-0000-7000-8000-00000000000d";
  changes.push(
    [
      "destinations",
      () =>
        written(raw`insert into bulk_export_destinations
          (id, workspace_id, destination_type, display_name, config, created_at, updated_at)
          values (${destinationId}, ${app.workspaceId}, 's3', 'lake', '{}', now(), now())`),
    ],
    [
      "exports",
      () =>
        written(raw`insert into bulk_exports (id, workspace_id, bulk_export_destination_id, session_id, start_time,
            end_time, format, format_version, compression, status, created_at, updated_at)
          values (gen_random_uuid(), ${app.workspaceId}, ${destinationId}, gen_random_uuid(), now(), now(), 'Parquet',
            'v1', 'zstandard', 'CREATED', now(), now())`),
    ],
    [
      "connections",
      () =>
        app.call("POST", "/v2/auth/providers", {
          body: {
            provider_id: "loom",
            name: "Loom",
            client_id: "id",
            client_secret: "secret",
            auth_url: "https://loom.example/authorize",
            token_url: "https://loom.example/token",
          },
        }),
    ],
  );

  async function written(statement: RawBuilder<unknown>) {
    await statement.execute(app.database.sql);
    return { status: 201 };
  }

  async function postRun() {
    const id = crypto.randomUUID();
    return app.call("POST", "/api/v1/runs", {
      body: {
        id,
        trace_id: id,
        name: "run",
        run_type: "chain",
        inputs: {},
        start_time: new Date().toISOString(),
      },
    });
  }

  it.each(changes)("200: hears of %s", async (topic, make) => {
    const stop = new AbortController();
    const response = await app.fetch(`/v2/events?topics=${topic}`, { signal: stop.signal });
    expect(response.status).toBe(200);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toContain("event: ready");
    const made = (await make()) as { status: number };
    expect(made.status).toBeLessThan(300);
    expect((await reader.read()).value).toBe(`event: change\ndata: {"topic":"${topic}"}\n\n`);
    await reader.cancel();
  });

  it("422: a topic that is none", async () => {
    expect((await app.call("GET", "/v2/events?topics=weather")).status).toBe(422);
  });
});
