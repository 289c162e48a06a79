import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { CallbackManager } from "@langchain/core/callbacks/manager";
import { expect, it } from "vitest";
import { lightenCallbacks } from "./light-callbacks.ts";

const whole = CallbackManager.prototype.copy;
lightenCallbacks(CallbackManager);

const handler = (name: string) => Object.assign(BaseCallbackHandler.fromMethods({}), { name });

function sample(): CallbackManager {
  const manager = new CallbackManager("parent");
  manager.addHandler(handler("inherited"));
  manager.addHandler(handler("local"), false);
  manager.addTags(["inherited"]);
  manager.addTags(["local"], false);
  manager.addMetadata({ first: 1, second: { deep: true }, third: "x" });
  manager.addMetadata({ own: 4, second: "here only" }, false);
  return manager;
}

it("copies as the library does", () => {
  const manager = sample();
  expect(manager.copy()).toEqual(whole.call(manager));
  expect(manager.copy().metadata).toEqual({ first: 1, second: "here only", third: "x", own: 4 });
  expect(manager.copy().inheritableMetadata).toEqual({ first: 1, second: "here only", third: "x" });
  const extra = [handler("extra")];
  expect(manager.copy(extra, false)).toEqual(whole.call(manager, extra, false));
});

it("makes copies that can be changed without changing the first", () => {
  const manager = sample();
  const copy = manager.copy();
  copy.addMetadata({ later: 5 });
  copy.addTags(["later"]);
  copy.addHandler(handler("later"));
  expect(manager).toEqual(sample());
});

it("is done once, however often it is asked for", () => {
  const before = CallbackManager.prototype.copy;
  lightenCallbacks(CallbackManager);
  expect(CallbackManager.prototype.copy).toBe(before);
});

it("leaves a library alone that copies in another way", () => {
  class Manager {}
  expect(() => lightenCallbacks(Manager as unknown as typeof CallbackManager)).not.toThrow();
  expect(Manager.prototype).not.toHaveProperty("copy");
});
