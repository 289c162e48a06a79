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
  expect(lightenCallbacks(CallbackManager)).toBe(true);
  expect(CallbackManager.prototype.copy).toBe(before);
});

it("leaves a library alone that does not copy", () => {
  class Manager {}
  expect(lightenCallbacks(Manager as unknown as typeof CallbackManager)).toBe(false);
  expect(Manager.prototype).not.toHaveProperty("copy");
});

/** The rules of this version, with a copy of another. */
function versionThatCopies(copy: (this: CallbackManager) => CallbackManager): typeof CallbackManager {
  class Version extends CallbackManager {}
  Version.prototype.copy = copy;
  return Version;
}

it.each([
  [
    "keeps something of the metadata elsewhere",
    function (this: CallbackManager) {
      return Object.assign(whole.call(this), { seen: Object.keys(this.metadata) });
    },
  ],
  [
    "passes all metadata on",
    function (this: CallbackManager) {
      const made = whole.call(this);
      made.inheritableMetadata = { ...this.metadata };
      return made;
    },
  ],
  [
    "cannot copy a manager without metadata",
    function (this: CallbackManager) {
      if (Object.keys(this.metadata).length === 0) throw new Error("no metadata");
      return whole.call(this);
    },
  ],
])("leaves a library alone whose copy %s", (_, copy) => {
  const Version = versionThatCopies(copy);
  expect(lightenCallbacks(Version)).toBe(false);
  expect(Version.prototype.copy).toBe(copy);
});
