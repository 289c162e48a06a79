import { Writable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { createLogger } from "../../platform/logger.ts";
import { monotonicClock } from "../../platform/monotonic-clock.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import type { AwaitedWork } from "../desired-state/sleep.ts";
import { AwaitedWorks } from "./awaited-works.ts";
import { unknownMs } from "./sleep-plan.ts";

const idle: AwaitedWork = { isBusy: false, dueAt: null };
const deployment = (id: string, sleep_state = "awake") => ({ id, sleep_state }) as Deployment;

function open() {
  const lines: unknown[] = [];
  const destination = new Writable({
    write(line, _encoding, done) {
      lines.push(JSON.parse(String(line)));
      done();
    },
  });
  const asked: PromiseWithResolvers<AwaitedWork | null>[] = [];
  let nowMs = 0;
  const works = new AwaitedWorks({
    async read(_deployment, { onUnknown }) {
      const question = Promise.withResolvers<AwaitedWork | null>();
      asked.push(question);
      const work = await question.promise;
      if (!work) onUnknown("there are no runs");
      return work;
    },
    logger: createLogger({ level: "info", destination }),
    monotonic: { ...monotonicClock, now: () => nowMs },
  });
  return {
    ...{ works, asked, lines },
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

it("asks four databases at once, and the others in turn", async () => {
  const { works, asked } = open();
  const all = Promise.all(["a", "b", "c", "d", "e"].map((id) => works.of(deployment(id))));
  await turn();
  expect(asked).toHaveLength(4);
  asked[0]!.resolve(idle);
  await turn();
  expect(asked).toHaveLength(5);
  for (const question of asked) question.resolve(idle);
  expect(await all).toEqual([idle, idle, idle, idle, idle]);
});

it("lets those go that wait for their turn when it stops, and asks again later", async () => {
  const { works, asked } = open();
  const first = ["a", "b", "c", "d"].map((id) => works.of(deployment(id)));
  const waiting = works.of(deployment("e"));
  await turn();
  works.stop();
  expect(await waiting).toBeNull();
  for (const question of asked) question.resolve(idle);
  expect(await Promise.all(first)).toEqual([idle, idle, idle, idle]);
  const again = works.of(deployment("e"));
  await turn();
  asked[4]!.resolve(idle);
  expect(await again).toEqual(idle);
});

it("leaves one alone whose database does not tell, and says so once", async () => {
  const { works, asked, lines, pass } = open();
  const ask = async (work: AwaitedWork | null, state?: string) => {
    const before = asked.length;
    const answer = works.of(deployment("a", state));
    await turn();
    asked[before]?.resolve(work);
    return { answer: await answer, isAsked: asked.length > before };
  };
  expect(await ask(null)).toEqual({ answer: null, isAsked: true });
  pass(unknownMs - 1);
  expect(await ask(idle)).toEqual({ answer: null, isAsked: false });
  // Somebody wants it to sleep now.
  expect(await ask(null, "falling_asleep")).toEqual({ answer: null, isAsked: true });
  pass(unknownMs);
  expect(await ask(null)).toEqual({ answer: null, isAsked: true });
  expect(lines).toEqual([expect.objectContaining({ deployment: "a", reason: "there are no runs" })]);
  pass(unknownMs);
  expect(await ask(idle)).toEqual({ answer: idle, isAsked: true });
  expect(await ask(idle)).toEqual({ answer: idle, isAsked: true });
  await ask(null);
  expect(lines).toHaveLength(2);
});
