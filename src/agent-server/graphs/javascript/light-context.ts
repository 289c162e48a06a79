import type * as Callbacks from "@langchain/core/callbacks/manager";
import type * as Singletons from "@langchain/core/singletons";

type Provider = typeof Singletons.AsyncLocalStorageProviderSingleton;
type Managers = Pick<typeof Callbacks.CallbackManager, "configure">;
type Context = { tracingEnabled?: boolean; extra?: Record<symbol, unknown>; [variables: symbol]: unknown };

const configKey = Symbol.for("lc:child_config");
const variablesKey = Symbol.for("lc:context_variables");
/** Of the whole process: a second copy of this module must see what the first has done. */
const lightened = Symbol.for("treadle.lightened");
const tracerName = "langchain_tracer";
const askAgainAfterMs = 100;

/**
 * The graph library keeps the config of the current step in a context. For each context it creates a whole span of its
 * tracing client (an id, a time, a look at the environment), even without tracing. That is an eighth of the cost of a
 * short run. Here such contexts inherit from a single span, made once by the library itself. While its tracer is
 * active, and in versions whose context has another shape, the library works unchanged. Returns whether the context was
 * replaced.
 */
export function lightenContext(provider: Provider, managers: Managers): boolean {
  if (Object.hasOwn(provider, "runWithConfig")) return lightened in provider.runWithConfig;
  const whole = provider.runWithConfig.bind(provider);
  const span = knownSpan(provider, whole);
  if (span === undefined) return false;

  class LightContext {
    readonly extra: Record<symbol, unknown>;
    constructor(config: unknown) {
      this.extra = { [configKey]: config };
    }
  }
  Object.setPrototypeOf(LightContext.prototype, span);

  const environmentTraces = rememberFor(askAgainAfterMs, () => managers.configure() !== undefined);

  const runWithConfig: Provider["runWithConfig"] = (config, callback, withoutSpan) => {
    const storage = provider.getInstance();
    const outer = storage.getStore() as Context | undefined;
    const quiet = outer === undefined ? !environmentTraces() : outer instanceof LightContext;
    if (!quiet || withoutSpan || hasTracer(config?.callbacks)) return whole(config, callback, withoutSpan);
    const context = new LightContext(config) as Context;
    const variables = outer?.[variablesKey];
    if (variables !== undefined) context[variablesKey] = variables;
    return storage.run(context, callback);
  };
  provider.runWithConfig = Object.assign(runWithConfig, { [lightened]: true });
  return true;
}

/** A span as the library makes it, when it keeps the config and passes context variables on as we know it. */
function knownSpan(provider: Provider, whole: Provider["runWithConfig"]): Context | undefined {
  const contextNow = () => provider.getInstance().getStore() as Context | undefined;
  const probe = { configurable: {} };
  const variables = {};
  const within = () => {
    const span = contextNow();
    if (span?.tracingEnabled !== false || span.extra?.[configKey] !== probe) return undefined;
    span[variablesKey] = variables;
    const passedOn = whole({}, () => contextNow()?.[variablesKey]) === variables;
    delete span[variablesKey];
    return passedOn ? span : undefined;
  };
  return whole(probe, within) as Context | undefined;
}

/** Each answer costs half a dozen readings of the process's environment, which are slow. */
function rememberFor<T>(ms: number, ask: () => T): () => T {
  let known: { answer: T; until: number } | undefined;
  return () => {
    const now = performance.now();
    if (known === undefined || now > known.until) known = { answer: ask(), until: now + ms };
    return known.answer;
  };
}

function hasTracer(callbacks: Callbacks.Callbacks | undefined): boolean {
  const handlers = Array.isArray(callbacks) ? callbacks : callbacks?.handlers;
  return handlers?.some((handler) => "name" in handler && handler.name === tracerName) ?? false;
}
