import { isDeepStrictEqual } from "node:util";
import type * as Callbacks from "@langchain/core/callbacks/manager";

type Manager = Callbacks.CallbackManager;
/** Of the whole process: a second copy of this module must see what the first has done. */
const lightened = Symbol.for("treadle.lightened");

/**
 * The graph library copies its callback manager several times a step, and in each copy adds the metadata of the run key
 * by key to new objects. That is quadratic in the number of keys, and a tenth of the cost of a traced run. Here the
 * library copies everything but the metadata, which is added in one step. A library whose own copy of a sample has
 * another result is left unchanged. Returns whether the copying was replaced.
 */
export function lightenCallbacks(Manager: typeof Callbacks.CallbackManager): boolean {
  const { prototype } = Manager;
  if (typeof prototype.copy !== "function") return false;
  if (lightened in prototype.copy) return true;
  const copy = lightCopy(prototype.copy);
  if (!copiesAlike(Manager, prototype.copy, copy)) return false;
  prototype.copy = copy;
  return true;
}

function lightCopy(whole: Manager["copy"]): Manager["copy"] {
  return Object.assign(
    function copy(this: Manager, ...rest: Parameters<Manager["copy"]>): Manager {
      const { metadata } = this;
      this.metadata = {};
      let made: Manager;
      try {
        made = whole.apply(this, rest);
      } finally {
        this.metadata = metadata;
      }
      made.metadata = { ...metadata };
      made.inheritableMetadata = inherited(this);
      return made;
    },
    { [lightened]: true },
  );
}

function copiesAlike(
  Manager: typeof Callbacks.CallbackManager,
  whole: Manager["copy"],
  light: Manager["copy"],
): boolean {
  try {
    const sample = new Manager("parent");
    sample.addTags(["inherited"]);
    sample.addTags(["local"], false);
    sample.addMetadata({ first: 1, second: { deep: true } });
    sample.addMetadata({ own: 2, second: "here only" }, false);
    const before = whole.call(sample);
    return isDeepStrictEqual(light.call(sample), before) && isDeepStrictEqual(whole.call(sample), before);
  } catch {
    // A manager that is made or filled in another way is another library.
    return false;
  }
}

/** Of the keys that go on to children, the values as they are here. */
function inherited({ metadata, inheritableMetadata }: Manager): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const key in metadata) if (key in inheritableMetadata) values[key] = metadata[key];
  return values;
}
