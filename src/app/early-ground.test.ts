import { expect, it } from "vitest";
import { EarlyGround } from "./early-ground.ts";

it("is opened once, by whoever needs it first", async () => {
  let opened = 0;
  const ground = new EarlyGround(async () => ++opened);
  expect(await ground.beside(Promise.resolve("other"))).toBe("other");
  expect(opened).toBe(0);
  ground.begin();
  ground.begin();
  expect(await ground.opened()).toBe(1);
  expect(opened).toBe(1);
});

it("is waited for where the other start fails, so that it can be closed", async () => {
  const opening = Promise.withResolvers<void>();
  let isOpen = false;
  const ground = new EarlyGround(async () => {
    await opening.promise;
    isOpen = true;
  });
  ground.begin();
  const failed = ground.beside(Promise.reject(new Error("no project"))).catch((error: Error) => {
    expect(isOpen).toBe(true);
    return error.message;
  });
  opening.resolve();
  expect(await failed).toBe("no project");
});

it("fails only where it is needed", async () => {
  const ground = new EarlyGround(() => Promise.reject(new Error("no database")));
  ground.begin();
  expect(await ground.beside(Promise.resolve(1))).toBe(1);
  await expect(ground.opened()).rejects.toThrow("no database");
});
