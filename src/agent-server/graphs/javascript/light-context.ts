import type * as Callbacks from "@langchain/core/callbacks/manager";
import type * as Singletons from "@langchain/core/singletons";

type Provider = typeof Singletons.AsyncLocalStorageProviderSingleton;
type Managers = Pick<typeof Callbacks.CallbackManager, "configure">;
type Context = { tracingEnabled?: boolean; extra?: Record<symbol, unknown>; [variables: symbol]: unknown };

const configKey = Symbol.for("lc:child_config");
const variablesKey = Symbol.for("lc:context_variables");
const tracerName = "langchain_tracer";
const askAgainAfterMs = 100;

/**
 * The graph library keeps the config of the step under way in a context, and makes for it each time, also where nobody
 * traces with it, a whole span of its tracing client: an id, a time, a look at the environment. That is an eighth
 * of what a short run costs. Here such contexts inherit from a single span, made once by the library itself. Wherever
 * its tracer is at work, and in versions whose context looks otherwise, the library does as it always did.
 */
export function lightenContext(provider: Provider, managers: Managers): void {
  if (Object.hasOwn(provider, "runWithConfig")) return;
  const whole = provider.runWithConfig.bind(provider);
  const probe = { configurable: {} };
  const span = whole(probe, () => provider.getInstance().getStore()) as Context | undefined;
  if (span?.tracingEnabled !== false || span.extra?.[configKey] !== probe) return;

  class LightContext {
    readonly extra: Record<symbol, unknown>;
    constructor(config: unknown) {
      this.extra = { [configKey]: config };
    }
  }
  Object.setPrototypeOf(LightContext.prototype, span);

  const environmentTraces = rememberFor(askAgainAfterMs, () => managers.configure() !== undefined);

  provider.runWithConfig = (config, callback, withoutSpan) => {
    const storage = provider.getInstance();
    const outer = storage.getStore() as Context | undefined;
    const quiet = outer === undefined ? !environmentTraces() : outer instanceof LightContext;
    if (!quiet || withoutSpan || hasTracer(config?.callbacks)) return whole(config, callback, withoutSpan);
    const context = new LightContext(config) as Context;
    const variables = outer?.[variablesKey];
    if (variables !== undefined) context[variablesKey] = variables;
    return storage.run(context, callback);
  };
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
