import { AsyncLocalStorage } from "node:async_hooks";
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { CallbackManager } from "@langchain/core/callbacks/manager";
import { getContextVariable, setContextVariable } from "@langchain/core/context";
import { AsyncLocalStorageProviderSingleton as provider } from "@langchain/core/singletons";
import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
import { Annotation, END, getConfig, START, StateGraph } from "@langchain/langgraph";
import { RunTree } from "langsmith";
import { getCurrentRunTree, traceable } from "langsmith/traceable";
import { afterEach, beforeAll, expect, it, vi } from "vitest";
import { lightenContext } from "./light-context.ts";

const State = Annotation.Root({ seen: Annotation<unknown[]>({ reducer: (a, b) => [...a, ...b] }) });

beforeAll(() => lightenContext(provider, CallbackManager));
afterEach(() => vi.unstubAllEnvs());

const current = () => provider.getInstance().getStore() as RunTree;
const isOwnSpan = (context: RunTree) => Object.hasOwn(context, "dotted_order");

/** What a node sees of the context it runs in. */
async function inNode<T>(look: () => T | Promise<T>, config: object = {}): Promise<T> {
  let seen: T | undefined;
  const graph = new StateGraph(State)
    .addNode("look", async () => {
      seen = await look();
      return { seen: [] };
    })
    .addEdge(START, "look")
    .addEdge("look", END)
    .compile();
  await graph.invoke({ seen: [] }, config);
  return seen as T;
}

it("gives a node the config of its step, without a span of its own", async () => {
  const { config, context } = await inNode(() => ({ config: getConfig(), context: current() }), {
    configurable: { tenant: "acme" },
  });
  expect(config.configurable?.tenant).toBe("acme");
  expect(isOwnSpan(context)).toBe(false);
  expect(context.tracingEnabled).toBe(false);
  expect(context).toBeInstanceOf(RunTree);
});

it("keeps the configs of runs apart that are under way together", async () => {
  const tenants = ["a", "b", "c", "d"];
  const seen = await Promise.all(
    tenants.map((tenant) =>
      inNode(
        async () => {
          await new Promise((resolve) => setImmediate(resolve));
          return getConfig().configurable?.tenant;
        },
        { configurable: { tenant } },
      ),
    ),
  );
  expect(seen).toEqual(tenants);
});

it("hands context variables on to the steps within", async () => {
  const seen = await inNode(() => {
    setContextVariable("tenant", "acme");
    return provider.runWithConfig({}, () => getContextVariable("tenant"));
  });
  expect(seen).toBe("acme");
});

it("lets functions traced by hand run untraced, as the library does", async () => {
  const double = traceable(async (value: number) => ({ value: value * 2, span: getCurrentRunTree(true) }), {
    name: "double",
  });
  const { value, span } = await inNode(() => double(21));
  expect(value).toBe(42);
  expect(span?.tracingEnabled ?? false).toBe(false);
});

it("leaves the library alone where its tracer is among the callbacks", async () => {
  const posted: string[] = [];
  const client = {
    createRun: async (run: { name: string }) => void posted.push(run.name),
    updateRun: async () => undefined,
  };
  const tracer = new LangChainTracer({ client: client as never, projectName: "test" });
  const context = await inNode(current, { callbacks: [tracer], runName: "traced" });
  expect(isOwnSpan(context)).toBe(true);
  expect(context.tracingEnabled).not.toBe(false);
  await vi.waitFor(() => expect(posted).toContain("traced"));
});

it("stays light beside other callbacks", async () => {
  const starts: string[] = [];
  const handler = BaseCallbackHandler.fromMethods({
    handleChainStart: (_chain, _inputs, _id, _parent, _tags, _metadata, _type, name) =>
      void starts.push(name ?? ""),
  });
  expect(isOwnSpan(await inNode(current, { callbacks: [handler] }))).toBe(false);
  expect(starts).toContain("look");
});

it("leaves the library alone where the environment asks for its tracer", async () => {
  vi.stubEnv("LANGSMITH_TRACING", "true");
  // The answer of a moment ago is still remembered.
  await vi.waitFor(() => provider.runWithConfig({}, () => expect(isOwnSpan(current())).toBe(true)));
});

it("is done once, however often it is asked for", () => {
  const before = provider.runWithConfig;
  expect(lightenContext(provider, CallbackManager)).toBe(true);
  expect(provider.runWithConfig).toBe(before);
});

/** A library that keeps its context in its own way. */
function versionThatRuns(contextOf: (config: unknown, outer: unknown) => object) {
  const storage = new AsyncLocalStorage<object>();
  const version = {
    getInstance: () => storage,
    runWithConfig: (config: unknown, callback: () => unknown) =>
      storage.run(contextOf(config, storage.getStore()), callback),
  };
  return Object.create(version) as typeof provider;
}
const spanOf = (config: unknown) => ({
  tracingEnabled: false,
  extra: { [Symbol.for("lc:child_config")]: config },
});

it.each([
  ["has another shape", () => ({ another: "shape" })],
  ["is traced", (config: unknown) => ({ ...spanOf(config), tracingEnabled: true })],
  ["keeps the config elsewhere", (config: unknown) => ({ ...spanOf(undefined), config })],
  ["passes no variables on", spanOf],
])("changes nothing in a library whose context %s", (_, contextOf) => {
  const version = versionThatRuns(contextOf);
  expect(lightenContext(version, CallbackManager)).toBe(false);
  expect(Object.hasOwn(version, "runWithConfig")).toBe(false);
});
