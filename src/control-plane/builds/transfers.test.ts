import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { AppError } from "../../platform/errors.ts";
import { Transfers } from "./transfers.ts";

const busy = { code: "build.source_busy", kind: "rate_limited" } as const;
const limits = {
  ...{ atOnce: 3, perGroup: 2, transferMs: 60_000 },
  busy: () => new AppError({ ...busy, message: "Try again." }),
};
const podOf = (group: string) => ({ id: randomUUID(), group });
const read = async () => new PassThrough();

it("one for each id, a few for each group, and a few in all", async () => {
  const transfers = new Transfers(limits);
  const first = podOf("a");
  const stream = await transfers.open(first, read);
  await expect(transfers.open(first, read)).rejects.toMatchObject(busy);
  await transfers.open(podOf("a"), read);
  await expect(transfers.open(podOf("a"), read)).rejects.toMatchObject(busy);
  await transfers.open(podOf("b"), read);
  await expect(transfers.open(podOf("c"), read)).rejects.toMatchObject(busy);
  stream.destroy();
  await once(stream, "close");
  await transfers.open(first, read);
});

it("one that cannot be opened does not count", async () => {
  const transfers = new Transfers(limits);
  const pod = podOf("a");
  const gone = () => Promise.reject(new Error("gone"));
  await expect(transfers.open(pod, gone)).rejects.toThrow("gone");
  await transfers.open(pod, read);
});

it("ends when nobody reads it in time", async () => {
  const transfers = new Transfers({ ...limits, transferMs: 1 });
  const pod = podOf("a");
  const errors: string[] = [];
  const opened = async () => (await read()).on("error", ({ message }) => errors.push(message));
  const stream = await transfers.open(pod, opened);
  await expect.poll(() => stream.closed).toBe(true);
  expect(errors).toEqual(["Nobody read it in time."]);
  await transfers.open(pod, opened);
});
