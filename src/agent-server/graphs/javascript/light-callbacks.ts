import type * as Callbacks from "@langchain/core/callbacks/manager";

type Manager = Callbacks.CallbackManager;
const lightened = Symbol("treadle.lightened");

/**
 * The graph library copies its callback manager several times a step, and in each copy adds the metadata of the run
 * key by key to new objects: with the square of their number, a tenth of what a traced run costs. Here the library
 * copies all but the metadata, which follows in one go.
 */
export function lightenCallbacks({ prototype }: typeof Callbacks.CallbackManager): void {
  // A library without it copies in a way of its own, and is left as it is.
  if (typeof prototype.copy !== "function" || lightened in prototype.copy) return;
  const whole = prototype.copy;
  prototype.copy = Object.assign(
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

/** Of the keys that go on to children, the values as they are here. */
function inherited({ metadata, inheritableMetadata }: Manager): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const key in metadata) if (key in inheritableMetadata) values[key] = metadata[key];
  return values;
}
