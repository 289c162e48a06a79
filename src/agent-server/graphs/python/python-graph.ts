import { AppError } from "../../../platform/errors.ts";
import type { DrawnGraph, GraphSchemas } from "../graph-description.ts";
import type {
  GraphSource,
  OpenedGraph,
  OpenOptions,
  RunnableGraph,
  RuntimeGround,
  ServedGraph,
} from "../graph-runtime.ts";
import { graphError } from "../project-faults.ts";
import type { StateSnapshot } from "../state-snapshot.ts";
import type { BuiltDescription } from "./built-descriptions.ts";
import type { CallGround } from "./call-ground.ts";
import type { Incoming, Meta } from "./call-stream.ts";
import { CarriedValues } from "./carried-values.ts";
import type { Segment } from "./frame.ts";
import type { LoadedGraph } from "./load-report.ts";
import { PythonExecution } from "./python-execution.ts";
import type { PythonPool } from "./python-pool.ts";
import { RemoteError } from "./remote-error.ts";
import { storedMeta, storedSegments } from "./stored-segments.ts";

/** A graph of the project's Python processes; `built`: the description that the build stored. */
export function pythonGraph(
  source: GraphSource,
  { isFactory, isRepeatable }: Pick<LoadedGraph, "isFactory" | "isRepeatable">,
  pool: PythonPool,
  built?: BuiltDescription,
): ServedGraph {
  const { graphId } = source;
  const schemas = async (): Promise<GraphSchemas> =>
    built?.schemas ?? jsonOf(await asking(source, () => call(pool, "graph.schemas", { graphId })));
  const described = { ...source, isFactory, isRepeatable, schemas };
  return { ...described, bind: (ground) => bind(described, pool, ground, built) };
}

function bind(
  source: Omit<ServedGraph, "bind"> & Pick<LoadedGraph, "isRepeatable">,
  pool: PythonPool,
  ground: RuntimeGround,
  built: BuiltDescription | undefined,
): RunnableGraph {
  const { graphId } = source;
  const { checkpoints } = ground;
  return {
    ...source,
    draw: async (config, xray) => {
      if (built && typeof xray === "boolean") return withTypes(built.drawings[xray ? "xray" : "plain"]);
      return withTypes(
        jsonOf(await asking(source, () => call(pool, "graph.draw", { graphId, config, xray }))),
      );
    },
    subgraphs: async (config, { namespace, recurse = false }) =>
      jsonOf(
        await asking(source, () => call(pool, "graph.subgraphs", { graphId, config, namespace, recurse })),
      ),
    open: async (options) => openGraph(source, pool, { checkpoints }, options),
    start: async (attempt) => {
      const { run, call: kwargs } = attempt;
      const opened = openGraph(
        source,
        pool,
        { checkpoints },
        { config: kwargs.config, access: "threads.read" },
      );
      const readState = () => opened.state(run.thread_id);
      return PythonExecution.start({ pool, ground, graphId, attempt, readState });
    },
  };
}

function openGraph(
  source: GraphSource & Pick<LoadedGraph, "isRepeatable">,
  pool: PythonPool,
  ground: CallGround,
  { config, access, address }: OpenOptions,
): OpenedGraph {
  const { graphId, isRepeatable } = source;
  return {
    graphId,
    isRepeatable,
    async state(threadId, { stored, asText = false, subgraphs = false, address: place = address } = {}) {
      const carried = asText && stored ? new CarriedValues() : undefined;
      const prefetched = stored ? { prefetched: storedMeta(stored, carried) } : {};
      const carry = carried !== undefined;
      const meta = { graphId, config, access, threadId, address: place, subgraphs, carry, ...prefetched };
      const read = stored ? [[stored]] : undefined;
      const segments = storedSegments(stored, carried);
      const request = () => ask(pool, "state.get", meta, segments, { ...ground, read, carried });
      const answer = await asking(source, request);
      return carried ? carried.fill([answer])[0]! : jsonOf<StateSnapshot>(answer);
    },
    async history(threadId, { read, asText, address: place = address, ...query }) {
      const worker = await pool.any();
      const carried = asText ? new CarriedValues() : undefined;
      const meta = { graphId, config, access, threadId, address: place, carry: asText, ...query };
      const stream = worker.open("state.history", meta, [], { ...ground, read, carried });
      const answers: Incoming[] = [];
      for await (const item of stream.items()) answers.push(item);
      return carried ? carried.fill(answers) : answers.map((answer) => jsonOf<StateSnapshot>(answer));
    },
    async update(threadId, { values, asNode, address: place = address }) {
      const checkpointMetadata = { graph_id: graphId };
      const meta = { graphId, config, access, threadId, address: place, asNode, checkpointMetadata };
      const { meta: answer } = await ask(
        pool,
        "state.update",
        meta,
        [JSON.stringify(values ?? null)],
        ground,
      );
      return answer as { configurable?: Record<string, unknown> };
    },
    async fill(threadId, supersteps) {
      const meta = { graphId, config, access, threadId, checkpointMetadata: { graph_id: graphId } };
      await ask(pool, "state.fill", meta, [JSON.stringify(supersteps)], ground);
    },
  };
}

async function call(pool: PythonPool, method: string, meta: Meta): Promise<Incoming> {
  return (await pool.any()).call(method, meta);
}

async function ask(
  pool: PythonPool,
  method: string,
  meta: Meta,
  segments: readonly Segment[],
  ground: CallGround,
): Promise<Incoming> {
  return (await pool.any()).open(method, meta, segments, ground).answer();
}

/** A graph that cannot be created is an error of the project, and the message says so. */
async function asking(source: GraphSource, work: () => Promise<Incoming>): Promise<Incoming> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError || !(error instanceof RemoteError)) throw error;
    throw graphError("graph.factory_failed", source, `${error.name}: ${error.message}`, error);
  }
}

/** The library leaves out what kind of node the ends are. */
function withTypes({ nodes, edges }: DrawnGraph): DrawnGraph {
  return {
    nodes: nodes.map((node) => ({ ...node, type: node.type ?? "schema", data: node.data ?? node.id })),
    edges,
  };
}

function jsonOf<Value>({ segments }: Incoming): Value {
  return JSON.parse(segments[0]!.toString()) as Value;
}
