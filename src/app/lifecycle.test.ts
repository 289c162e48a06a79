import { describe, expect, it } from "vitest";
import { HeldRequests } from "../control-plane/gateway/held-requests.ts";
import type { Target } from "../control-plane/gateway/target.ts";
import type { Area, Worker } from "../platform/areas/area.ts";
import { AppError } from "../platform/errors.ts";
import { type CloseOptions, listen } from "../platform/http/server/server.ts";
import { createLogger } from "../platform/logger.ts";
import { Lifecycle } from "./lifecycle.ts";

function recorder() {
  const log: string[] = [];
  const area = (name: string, more: Partial<Area> = {}): Area => ({
    routes: [],
    jobHandlers: {},
    recurringJobs: [],
    workers: [],
    start: async () => void log.push(`start ${name}`),
    stop: async () => void log.push(`stop ${name}`),
    ...more,
  });
  const worker = (name: string, more: Partial<Worker> = {}): Worker => ({
    name,
    start: async () => void log.push(`start ${name}`),
    async stop({ graceMs }) {
      log.push(`stop ${name} within ${graceMs}`);
      return { interrupted: [`work of ${name}`] };
    },
    ...more,
  });
  return { log, area, worker };
}

describe("a stop", () => {
  it("gives all workers the same grace, then closes areas and what they stand on in reverse", async () => {
    const { log, area, worker } = recorder();
    const life = new Lifecycle();
    life.onClose(async () => log.push("close the database"));
    await life.startAreas([area("first"), area("second")], { graceMs: 5 });
    await life.startWorkers([worker("a"), worker("b")]);
    expect(await life.stop({ graceMs: 5 })).toEqual({ interrupted: ["work of a", "work of b"] });
    expect(log).toEqual([
      ...["start first", "start second", "start a", "start b"],
      ...["stop a within 5", "stop b within 5", "stop second", "stop first", "close the database"],
    ]);
  });

  it("stops the workers beside one another and keeps streams until the last of them has ended", async () => {
    const { log, worker } = recorder();
    const life = new Lifecycle();
    const slow = Promise.withResolvers<void>();
    await life.startWorkers([
      worker("slow", {
        async stop() {
          await slow.promise;
          return { interrupted: [] };
        },
      }),
      worker("quick"),
    ]);
    life.serve({
      url: "",
      port: 0,
      async takeLeave(leaveMs) {
        log.push(`serve for another ${leaveMs}`);
      },
      async close({ graceMs, streamsUntil }: CloseOptions) {
        log.push(`close the server within ${graceMs}`);
        await streamsUntil;
        log.push("streams end");
        return { interrupted: ["GET /threads/{thread_id}/stream"] };
      },
    });
    const stopping = life.stop({ graceMs: 7, leaveMs: 3 });
    await expect.poll(() => log).toContain("stop quick within 7");
    // Only then: until then runs are taken and requests served.
    expect(log.indexOf("serve for another 3")).toBeLessThan(log.indexOf("close the server within 7"));
    expect(log.indexOf("serve for another 3")).toBeLessThan(log.indexOf("stop quick within 7"));
    expect(log).not.toContain("streams end");
    slow.resolve();
    expect((await stopping).interrupted).toEqual(["GET /threads/{thread_id}/stream", "work of quick"]);
    expect(log.at(-1)).toBe("streams end");
  });

  it("answers at once the requests that wait for a deployment to wake", async () => {
    const asleep: Target = {
      ...{ deploymentId: "d", workspaceId: "w", name: "bot", usesOwnAuth: false, instance: null },
      ...{ reason: "asleep", stopped: false, rests: "waking", elsewhere: false },
    };
    const held = new HeldRequests({ find: async () => asleep, wake: async () => {} });
    const answer = () =>
      held.until(asleep, "bot", held.deadline(), undefined).then(
        () => new Response("served"),
        (error: AppError) => new Response(error.code, { status: 503 }),
      );
    const life = new Lifecycle();
    await life.startWorkers([held]);
    const logger = createLogger({ level: "silent" });
    const server = await listen({ fetch: answer }, { host: "127.0.0.1", port: 0, logger });
    life.serve(server);
    const waiting = fetch(server.url);
    await expect.poll(() => held.count).toBe(1);
    expect(await life.stop({ graceMs: 60_000 })).toEqual({ interrupted: [] });
    expect([(await waiting).status, await (await waiting).text()]).toEqual([503, "gateway.stopping"]);
  });

  it("closes everything although one worker and one area fail, and says so", async () => {
    const { log, area, worker } = recorder();
    const life = new Lifecycle();
    const fail = (what: string) => async () => {
      throw new Error(what);
    };
    await life.startAreas([area("sound"), area("broken", { stop: fail("area") })], { graceMs: 0 });
    await life.startWorkers([worker("bad", { stop: fail("worker") }), worker("good")]);
    await expect(life.stop({ graceMs: 0 })).rejects.toThrow("Not everything could be stopped in order.");
    expect(log.slice(-2)).toEqual(["stop good within 0", "stop sound"]);
  });

  it("comes to its good end while the database is away, and names that; what else fails is still told", async () => {
    const { area, worker } = recorder();
    const fail = (error: Error) => async () => {
      throw error;
    };
    const message = "The database cannot be reached.";
    const away = new AppError({ code: "database.unavailable", kind: "unavailable", message });
    const life = new Lifecycle();
    await life.startAreas([area("present", { stop: fail(away) })], { graceMs: 0 });
    await life.startWorkers([worker("leased", { stop: fail(away) }), worker("good")]);
    expect(await life.stop({ graceMs: 0 })).toEqual({
      interrupted: ["work of good", `the last notes of this process in the database. ${message}`],
    });
    const other = new Lifecycle();
    const areas = [area("broken", { stop: fail(new Error("a defect")) }), area("a", { stop: fail(away) })];
    await other.startAreas(areas, { graceMs: 0 });
    await expect(other.stop({ graceMs: 0 })).rejects.toMatchObject({ errors: [{ message: "a defect" }] });
  });

  it("also ends an area and a worker whose start failed half-way", async () => {
    const { log, area, worker } = recorder();
    const fails = async () => {
      throw new Error("no database");
    };
    const life = new Lifecycle();
    await expect(life.startAreas([area("half", { start: fails })], { graceMs: 0 })).rejects.toThrow();
    await expect(life.startWorkers([worker("half.worker", { start: fails })])).rejects.toThrow();
    await life.stop({ graceMs: 3 });
    expect(log).toEqual(["stop half.worker within 3", "stop half"]);
  });
});
