import { constants, open } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { DrawnGraph, GraphSchemas } from "../graph-description.ts";
import type { LoadedGraph } from "./load-report.ts";

/** In the environment that a build made; written by `described.py`. */
const file = join(".venv", "treadle-graphs.json");
const maxBytes = 16 * 1024 * 1024;

const schema = z.record(z.string(), z.unknown()).nullable();
const drawing = z.object({
  nodes: z.array(
    z.looseObject({
      id: z.string(),
      type: z.string().optional(),
      data: z.unknown(),
      metadata: z.unknown().optional(),
    }),
  ),
  edges: z.array(
    z.object({
      source: z.string(),
      target: z.string(),
      conditional: z.boolean(),
      data: z.string().optional(),
    }),
  ),
});
const description = z.object({
  shape: z.string(),
  schemas: z.object({
    input_schema: schema,
    output_schema: schema,
    state_schema: schema,
    config_schema: schema,
    context_schema: schema,
  }),
  drawings: z.object({ plain: drawing, xray: drawing }),
});
const descriptions = z.object({ format: z.literal(1), graphs: z.record(z.string(), description) });

/** What a graph declares and how it is drawn. */
export type BuiltDescription = {
  schemas: GraphSchemas;
  drawings: { plain: DrawnGraph; xray: DrawnGraph };
};

/** What was described when the project was built. Without such a file, or with another one, Python is asked. */
export class BuiltDescriptions {
  readonly #graphs: Readonly<Record<string, z.infer<typeof description>>>;

  private constructor(graphs: Readonly<Record<string, z.infer<typeof description>>>) {
    this.#graphs = graphs;
  }

  static async read(directory: string): Promise<BuiltDescriptions> {
    const text = await read(join(directory, file));
    const parsed = text === null ? undefined : descriptions.safeParse(jsonOf(text));
    return new BuiltDescriptions(parsed?.success ? parsed.data.graphs : {});
  }

  /** Of a graph that has, where it is served, the nodes and channels it had when it was built. */
  of({ graphId, shape }: LoadedGraph): BuiltDescription | undefined {
    const known = Object.hasOwn(this.#graphs, graphId) ? this.#graphs[graphId] : undefined;
    return known?.shape === shape ? (known as BuiltDescription) : undefined;
  }
}

/** The project can write this file: it may contain anything. */
async function read(path: string): Promise<string | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const opened = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (["ENOENT", "ENOTDIR", "ELOOP", "EACCES"].includes(error.code ?? "")) return null;
    throw error;
  });
  if (opened === null) return null;
  try {
    const stat = await opened.stat();
    return stat.isFile() && stat.size <= maxBytes ? await opened.readFile("utf8") : null;
  } finally {
    await opened.close();
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
