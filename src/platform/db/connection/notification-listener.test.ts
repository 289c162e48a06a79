import { afterAll, beforeAll, expect, it } from "vitest";
import { startTcpProxy, type TcpProxy } from "../../../../tests/support/components/tcp-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import { createFakeMonotonicClock } from "../../../../tests/support/fake-monotonic-clock.ts";
import { createLogger } from "../../logger.ts";
import { NotificationListener } from "./notification-listener.ts";

let test: TestDatabase;
let proxy: TcpProxy;
beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 1 });
  proxy = await startTcpProxy({ target: test.url });
});
afterAll(async () => {
  await proxy?.stop();
  await test?.drop();
});

function createListener() {
  const clock = createFakeMonotonicClock();
  const connection = { connectionString: proxy.urlFor(test.url) };
  const logger = createLogger({ level: "silent" });
  return { clock, listener: new NotificationListener({ connection, where: "here", logger, clock }) };
}

it("asks an unused connection rarely whether it still lives, and often again from the first use on", async () => {
  const { clock, listener } = createListener();
  try {
    await listener.listen("rest", () => {});
    expect(clock.nextIn()).toBe(6_000);
    await clock.advance(18_000);
    expect(clock.nextIn()).toBe(6_000);
    await clock.advance(6_000);
    expect(clock.nextIn()).toBe(60_000);
    await clock.advance(59_000);
    expect(clock.nextIn()).toBe(1_000);
    listener.noteUse();
    expect(clock.nextIn()).toBe(6_000);
  } finally {
    await listener.close();
  }
});

it("takes a connection that leaves a statement without an answer for lost", async () => {
  const { listener } = createListener();
  try {
    const gap = Promise.withResolvers<void>();
    await listener.listen("lost", () => {}, gap.resolve);
    proxy.swallowOpen();
    await expect(listener.query({ name: "", text: "select 1" }, [])).rejects.toThrow();
    await gap.promise;
    expect(await listener.query({ name: "", text: "select 1 as one" }, [])).toEqual([{ one: 1 }]);
  } finally {
    await listener.close();
  }
});
