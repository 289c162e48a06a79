import type { FailedReload, StartedAgent } from "../../app/agent.ts";
import type { FrontDoor } from "./front-door.ts";
import { type Begin, Generation, GenerationFailed } from "./generation.ts";

export type Loaded = { started: StartedAgent; tookMs: number; changed: string[] };
export type NotLoaded = { failed: GenerationFailed; keepsServing: boolean; changed: string[] };

export type GenerationsOptions = Omit<Begin, "mustServe"> & {
  door: FrontDoor;
  onLoaded(loaded: Loaded): void;
  onFailed(failed: NotLoaded): void;
  /** The generation that serves exited unexpectedly. */
  onLost(): void;
};

/** More than so many that finish their runs are hurried: each has the whole project in memory. */
const maxFinishing = 4;
/** After a generation that exits sooner than this, no other is started until a file changes. */
const steadyMs = 10_000;
/** For requests on their way to the one that goes. */
const arrivalMs = 1_000;

/** The processes that serve a project: one that serves, perhaps one that loads, and earlier ones that finish. */
export class Generations {
  readonly #options: GenerationsOptions;
  #current: { generation: Generation; started: StartedAgent; since: number } | undefined;
  #loading: Generation | undefined;
  readonly #finishing = new Set<Generation>();
  #isStopped = false;

  constructor(options: GenerationsOptions) {
    this.#options = options;
  }

  /** Loads the project as it is now. One that is still loading is older than that and given up. */
  async load(changed: string[]): Promise<void> {
    const { databaseUrl, publicUrl, studioSecret, onLoaded, onFailed } = this.#options;
    if (this.#isStopped) return;
    if (this.#loading) this.#finish(this.#loading);
    const began = performance.now();
    const mustServe = this.#current?.started.graphs ?? [];
    const generation = new Generation({ databaseUrl, publicUrl, studioSecret, mustServe });
    this.#loading = generation;
    try {
      const started = await generation.started;
      if (this.#loading !== generation) return;
      this.#loading = undefined;
      this.#serve(generation, started);
      onLoaded({ started, tookMs: performance.now() - began, changed });
    } catch (error) {
      if (this.#loading !== generation) return;
      this.#loading = undefined;
      if (!(error instanceof GenerationFailed)) throw error;
      const keepsServing = this.#current !== undefined;
      if (!keepsServing) this.#options.door.leadNowhere(error.failure.message);
      onFailed({ failed: error, keepsServing, changed });
    }
  }

  /** Tells the one that serves that a later version of the project could not be loaded. */
  tellOutdated(failure: FailedReload): void {
    this.#current?.generation.tellOutdated(failure);
  }

  /** All of them, those with active runs within their grace. */
  async stop(): Promise<{ interrupted: string[] }> {
    this.#isStopped = true;
    const loading = this.#loading;
    this.#loading = undefined;
    const rest = [this.#current?.generation, loading, ...this.#finishing].filter(
      (each) => each !== undefined,
    );
    const ended = await Promise.all(rest.map((each) => each.stop()));
    return { interrupted: ended.flatMap(({ interrupted }) => interrupted) };
  }

  #serve(generation: Generation, started: StartedAgent): void {
    const before = this.#current;
    this.#current = { generation, started, since: performance.now() };
    this.#options.door.leadTo(started.port);
    void generation.ended.then(() => this.#ended(generation));
    if (before) this.#finish(before.generation, this.#options.door.settled(before.started.port, arrivalMs));
  }

  /** Its active work ends first. */
  #finish(generation: Generation, isFree: Promise<void> = Promise.resolve()): void {
    this.#finishing.add(generation);
    void isFree.then(() => generation.stop());
    void generation.ended.then(() => this.#finishing.delete(generation));
    const [oldest] = this.#finishing;
    // Its runs go on in the one that serves, from their last checkpoints.
    if (this.#finishing.size > maxFinishing) oldest!.kill();
  }

  #ended(generation: Generation): void {
    if (this.#isStopped || this.#current?.generation !== generation) return;
    const isSteady = performance.now() - this.#current.since >= steadyMs;
    this.#current = undefined;
    this.#options.door.leadNowhere("The server ended by itself. See its output.");
    this.#options.onLost();
    if (isSteady && !this.#loading) void this.load([]);
  }
}
