import { randomUUID } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Stopped, Worker } from "../../platform/areas/area.ts";
import type { Sql } from "../../platform/db/database.ts";
import { errorMessage } from "../../platform/errors.ts";
import { type JobContext, JobWorker } from "../../platform/jobs/job-worker.ts";
import { KeyedLock } from "../../platform/keyed-lock.ts";
import { clearLeftBuilds } from "../builds/build-cleanup.ts";
import { type BuildPayload, buildJobKind } from "../desired-state/build-jobs.ts";
import { statusesBefore } from "../desired-state/revision.ts";
import { insertEvent, moveRevision, readRevision } from "../desired-state/revision-store.ts";
import { type BuildFence, BuildTask, type BuildTaskOptions } from "./build-task.ts";
import { countLostBuilders, lostBuildersText, maxLostBuilders } from "./lost-builders.ts";

export type BuildWorkerOptions = Omit<BuildTaskOptions, "fence"> & {
  folder: string;
  /** Other processes build, too: what this one could only let wait is left to them. */
  shares: boolean;
  leaseMs?: number;
};

/** Begun builds, most of which wait: for their host, which must not delay others, or for a free builder. */
const maxBuilds = 1_000;
/** Processes of a build have to be ended and its folder removed. */
const abortGraceMs = 5_000;

/** Builds what the queue has. Another process takes a build over when this one dies, and what this one stores then is refused. */
export class BuildWorker implements Worker {
  readonly name = "control-plane.builds";
  readonly #options: BuildWorkerOptions;
  /** The next attempt begins once this process has cleared away the last one. */
  readonly #revisions = new KeyedLock();
  #jobs: JobWorker | undefined;
  #begun = 0;

  constructor(options: BuildWorkerOptions) {
    this.#options = options;
  }

  /** May be started again after a stop. */
  async start(): Promise<void> {
    const { database, clock, logger, folder, builder, shares, leaseMs = 15_000 } = this.#options;
    await clearLeftBuilds(folder);
    const jobs = new JobWorker({
      ...{ database, clock, logger, abortGraceMs, leaseMs },
      ...{ concurrency: maxBuilds, heartbeatMs: leaseMs / 4, sweepMs: 60_000 },
      handlers: { [buildJobKind]: (context) => this.#build(context) },
      place: `builds:${await placeIdOf(folder)}`,
      ...(shares && { room: () => builder.room(this.#begun) }),
    });
    this.#jobs = jobs;
    await jobs.start();
  }

  /** A build takes longer than any grace: it is given back at once and begun again, here or elsewhere. */
  async stop(): Promise<Stopped> {
    const jobs = this.#jobs;
    this.#jobs = undefined;
    return (await jobs?.stop({ graceMs: 0 })) ?? { interrupted: [] };
  }

  #build(context: JobContext): Promise<void> {
    const { revision_id: id } = context.job.payload as BuildPayload;
    // Counted before anything is waited for: the queue asks for room again at once.
    this.#begun += 1;
    return this.#revisions
      .run(id, () => this.#attempt(context, id))
      .finally(() => {
        this.#begun -= 1;
      });
  }

  async #attempt(context: JobContext, id: string): Promise<void> {
    const { signal } = context;
    signal.throwIfAborted();
    const fence = this.#fenceOf(context);
    const begun = await fence.write((tx) => this.#begin(tx, id, context));
    if (begun === "given up") await fence.finish((tx) => this.#giveUp(tx, id));
    if (begun !== "yes") return;
    const revision = await readRevision(this.#options.database.sql, id);
    if (!revision) return;
    try {
      await new BuildTask({ ...this.#options, fence }, revision, signal).run();
    } finally {
      await this.#clear(id);
    }
  }

  /** Only builds that are over: a build that was given back continues elsewhere. The maintenance retries what fails here. */
  async #clear(id: string): Promise<void> {
    const { database, builder, logger } = this.#options;
    try {
      const revision = await readRevision(database.sql, id);
      if (revision?.status !== "BUILDING") await builder.clear(id);
    } catch (error) {
      logger.warn(
        { revision: id, reason: errorMessage(error) },
        "what a build left could not be removed yet",
      );
    }
  }

  /** `no`: it is not to be built any more. */
  async #begin(tx: Sql, id: string, { job }: JobContext): Promise<"yes" | "no" | "given up"> {
    const now = this.#options.clock.now();
    if (await moveRevision(tx, id, { status: "BUILDING", message: "Building." }, now)) return "yes";
    const revision = await readRevision(tx, id);
    if (revision?.status !== "BUILDING") return "no";
    const { outlivesPlatform } = this.#options.builder;
    // Where a build runs elsewhere, it is not what ends its builders.
    if (!outlivesPlatform && (await countLostBuilders(tx, revision, job, now)) >= maxLostBuilders)
      return "given up";
    const message = outlivesPlatform
      ? "Another process follows the build after an interruption."
      : "Building again after an interruption.";
    await insertEvent(tx, id, { kind: "resumed", status: null, message }, now);
    return "yes";
  }

  async #giveUp(tx: Sql, id: string): Promise<void> {
    const move = { status: "BUILD_FAILED" as const, message: lostBuildersText };
    const from = statusesBefore("BUILD_FAILED");
    await moveRevision(tx, id, { ...move, from }, this.#options.clock.now());
  }

  /** Every write asserts that the build is still this process's. */
  #fenceOf(context: JobContext): BuildFence {
    const { database } = this.#options;
    return {
      write: (work) =>
        database.transaction(async (tx) => {
          await context.fence(tx);
          return work(tx);
        }),
      finish: (work) =>
        database.transaction(async (tx) => {
          await context.finish(tx);
          await work(tx);
        }),
    };
  }
}

/** A name for the folder builds are made in, which one process at a time uses. */
async function placeIdOf(folder: string): Promise<string> {
  const path = join(folder, "place-id");
  await mkdir(folder, { recursive: true });
  // If the file exists, also if another process has just made it, its id is used.
  await writeFile(path, randomUUID(), { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  return (await readFile(path, "utf8")).trim();
}
