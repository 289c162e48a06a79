import type { Deployment } from "../desired-state/deployment.ts";
import { insertEvent, moveRevision, readRevision } from "../desired-state/revision-store.ts";
import { BuildTask, type BuildTaskOptions } from "./build-task.ts";

export type BuildTasksOptions = BuildTaskOptions & { onChange(deploymentId: string): void };

/** Begun builds, most of which wait: for their host, which must not hold up others, or for a free builder. */
const maxTasks = 1_000;

type Task = { deploymentId: string; stop: AbortController; done: Promise<void> };

/** The builds that go on in this process. What they decide is written to the database. */
export class BuildTasks {
  readonly #options: BuildTasksOptions;
  readonly #tasks = new Map<string, Task>();

  constructor(options: BuildTasksOptions) {
    this.#options = options;
  }

  async begin(deployment: Deployment, revisionId: string, resumed: boolean): Promise<void> {
    const { database, clock, fence } = this.#options;
    const revision = await readRevision(database.sql, revisionId);
    if (!revision || this.#tasks.has(revisionId)) return;
    if (resumed && revision.status !== "BUILDING") return;
    const message = resumed ? "Building again after an interruption." : "Building.";
    const moved = await fence.write(async (tx) => {
      if (!resumed) return moveRevision(tx, revisionId, { status: "BUILDING", message }, clock.now());
      await insertEvent(tx, revisionId, { kind: "resumed", status: null, message }, clock.now());
      return true;
    });
    if (!moved) return;
    const stop = new AbortController();
    const done = new BuildTask(this.#options, revision, stop.signal).run().finally(() => {
      this.#tasks.delete(revisionId);
      this.#options.onChange(deployment.id);
    });
    this.#tasks.set(revisionId, { deploymentId: deployment.id, stop, done });
  }

  async cancel(revisionId: string): Promise<void> {
    const task = this.#tasks.get(revisionId);
    task?.stop.abort(new Error("The build was cancelled."));
    await task?.done;
  }

  runningFor(deploymentId: string): ReadonlySet<string> {
    const own = [...this.#tasks].filter(([, task]) => task.deploymentId === deploymentId);
    return new Set(own.map(([id]) => id));
  }

  freeSlots(): number {
    return Math.max(0, maxTasks - this.#tasks.size);
  }

  /** Their revisions stay as they are and are built again at the next start. */
  async stopAll(): Promise<void> {
    const all = [...this.#tasks.values()];
    for (const task of all) task.stop.abort(new Error("The platform is stopping."));
    await Promise.all(all.map((task) => task.done));
  }
}
