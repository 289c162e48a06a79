import type { Readable } from "node:stream";
import { AppError } from "../../../platform/errors.ts";
import type { BuildPod } from "./build-pod.ts";

/** A pod that reads slowly holds a connection to the storage, which has few. */
const defaultLimits = { atOnce: 8, perWorkspace: 2, transferMs: 5 * 60_000 };

/** The sources that pods fetch at this moment: one for each build. */
export class SourceTransfers {
  readonly #limits: typeof defaultLimits;
  /** The workspace of each build. */
  readonly #running = new Map<string, string>();

  constructor(limits = defaultLimits) {
    this.#limits = limits;
  }

  /** Counts until the stream is closed, by its end, by whoever reads it, or because it took too long. */
  async open(
    { id, workspace_id: workspace }: Pick<BuildPod, "id" | "workspace_id">,
    read: () => Promise<Readable>,
  ): Promise<Readable> {
    const { atOnce, perWorkspace, transferMs } = this.#limits;
    const ofWorkspace = [...this.#running.values()].filter((each) => each === workspace).length;
    if (this.#running.has(id) || this.#running.size >= atOnce || ofWorkspace >= perWorkspace) throw busy();
    this.#running.set(id, workspace);
    try {
      const stream = await read();
      const late = setTimeout(() => stream.destroy(new Error("Nobody read it in time.")), transferMs).unref();
      stream.once("close", () => {
        clearTimeout(late);
        this.#running.delete(id);
      });
      return stream;
    } catch (error) {
      this.#running.delete(id);
      throw error;
    }
  }
}

function busy(): AppError {
  return new AppError({
    code: "build.source_busy",
    kind: "rate_limited",
    message: "Other sources are being fetched, or this one is already. Try again in a moment.",
    headers: { "retry-after": "2" },
  });
}
