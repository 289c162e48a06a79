import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { HeldRequests } from "./held-requests.ts";
import type { Target } from "./target.ts";

const asleep: Target = {
  ...{ deploymentId: "d", workspaceId: "w", name: "bot", usesOwnAuth: false, instance: null },
  ...{ reason: "asleep", stopped: false, rests: "asleep", elsewhere: false },
};
const served: Target = {
  ...asleep,
  rests: "no",
  instance: { id: "i", port: 1, secret: null, endpoints: [] },
};

class Client extends EventEmitter {
  destroyed = false;

  leave(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

function hold(
  limits: { maxMs?: number; perDeployment?: number; perWorkspace?: number; inAll?: number } = {},
) {
  let current: Target | null = { ...asleep, rests: "waking" };
  const counts = { wakes: 0, looks: 0 };
  const held = new HeldRequests({
    async find() {
      counts.looks += 1;
      return current;
    },
    async wake() {
      counts.wakes += 1;
    },
    limits: { lookMs: 60_000, ...limits },
  });
  const wait = (client?: Client, target = asleep) => held.until(target, "bot", held.deadline(), client);
  return { held, wait, counts, serve: (target: Target | null) => (current = target) };
}

it("wakes once for all that wait, and looks once for all of them", async () => {
  const { held, wait, counts, serve } = hold();
  const waiting = Promise.all(Array.from({ length: 20 }, () => wait(new Client())));
  expect(held.count).toBe(20);
  held.notice("another");
  held.notice("d");
  expect(counts).toEqual({ wakes: 1, looks: 1 });
  expect(held.count).toBe(20);
  serve(served);
  held.notice("d");
  await waiting;
  expect(counts.wakes).toBe(1);
  expect(counts.looks).toBeLessThan(5);
  expect(held.count).toBe(0);
});

it("lets go of them when the deployment is stopped or gone, so that each is told", async () => {
  for (const target of [null, { ...asleep, rests: "no" as const, stopped: true }]) {
    const { held, wait, serve } = hold();
    const waiting = wait();
    serve(target);
    held.notice("d");
    await waiting;
  }
});

it("asks again where it has fallen asleep once more", async () => {
  const { held, wait, counts, serve } = hold();
  const client = new Client();
  const waiting = wait(client);
  serve(asleep);
  held.notice("d");
  await new Promise((resolve) => setImmediate(resolve));
  expect(counts.wakes).toBeGreaterThan(1);
  client.leave();
  await waiting;
});

it("forgets those whose client has left", async () => {
  const { held, wait } = hold();
  const client = new Client();
  const waiting = wait(client);
  client.leave();
  await waiting;
  const gone = new Client();
  gone.leave();
  await wait(gone);
  expect([held.count, client.listenerCount("close")]).toEqual([0, 0]);
});

it("answers 503 with Retry-After: too long, too many, stopping, not to be woken", async () => {
  const late = hold({ maxMs: 20 });
  await expect(late.wait()).rejects.toMatchObject({
    ...{ code: "gateway.waking", kind: "unavailable", headers: { "retry-after": "5" } },
  });
  const full = hold({ perDeployment: 1 });
  const first = full.wait();
  await expect(full.wait()).rejects.toMatchObject({ code: "gateway.waking_full" });
  void full.held.stop();
  await expect(first).rejects.toMatchObject({ code: "gateway.stopping" });
  await expect(full.wait()).rejects.toMatchObject({ code: "gateway.stopping" });
  const crowded = hold({ inAll: 1 });
  const one = crowded.wait();
  await expect(crowded.wait(undefined, { ...asleep, deploymentId: "e" })).rejects.toMatchObject({
    code: "gateway.waking_full",
  });
  void crowded.held.stop();
  await expect(one).rejects.toMatchObject({ code: "gateway.stopping" });
  const broken = new HeldRequests({
    find: async () => asleep,
    wake: () => Promise.reject(new Error("the database is away")),
  });
  await expect(broken.until(asleep, "bot", broken.deadline(), undefined)).rejects.toThrow("is away");
});

it("holds so many for a workspace, whatever deployments they are for, and others still", async () => {
  const { held, wait } = hold({ perWorkspace: 2 });
  const clients = Array.from({ length: 4 }, () => new Client());
  const to = (deploymentId: string, workspaceId = "w") => ({ ...asleep, deploymentId, workspaceId });
  const first = wait(clients[0], to("d"));
  const second = wait(clients[1], to("e"));
  await expect(wait(clients[2], to("f"))).rejects.toMatchObject({ code: "gateway.waking_full" });
  const other = wait(clients[2], to("g", "x"));
  clients[0]!.leave();
  await first;
  const third = wait(clients[3], to("f"));
  expect(held.count).toBe(3);
  for (const client of clients.slice(1)) client.leave();
  await Promise.all([second, other, third]);
  expect(held.count).toBe(0);
});
