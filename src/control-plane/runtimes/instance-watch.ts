import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import type { ReconcileFence } from "../desired-state/reconcile-fence.ts";
import { insertLogs } from "../logs/log-store.ts";
import { type Exit, exitText, stoppedByUs } from "./exit.ts";
import { untilHealthy } from "./health-probe.ts";
import { type Announced, type Instance, liveStates } from "./instance.ts";
import { moveInstance, readInstance, saveAnnounced } from "./instance-store.ts";
import { LogTail } from "./log-tail.ts";
import { untilReadyFile } from "./ready-file.ts";
import { type Handle, type Runtime, readyFileName } from "./runtime.ts";
import { untilRecorded } from "./until-recorded.ts";

export type WatchOptions = {
  database: Database;
  /** Through which everything but lines of the log is written. */
  fence: Pick<ReconcileFence, "write">;
  clock: Clock;
  logger: Logger;
  runtime: Runtime;
  instance: Instance;
  handle: Handle;
  /** The platform's proof towards this server; its health is asked with it. */
  secret: string | null;
  /** Cut out of what the server prints. */
  secrets: readonly string[];
  /** Of this start alone; removed at its end. */
  folder: string;
  /** It became ready, reported its graphs, or ended. */
  onChange(): void;
  /** It became ready, or ended: another may start. */
  onSettled(): void;
};

/** One server while it runs: its log, whether it serves, and how it ends, all written down. */
export class InstanceWatch {
  readonly instance: Instance;
  /** Settles when its end is written down. */
  readonly ended: Promise<void>;
  readonly #options: WatchOptions;
  readonly #tail: LogTail;
  readonly #stop = new AbortController();
  #announced: boolean;
  #healthy = false;
  #released = false;
  #probe = "";

  constructor(options: WatchOptions) {
    const { database, clock, logger, instance, handle, runtime, secrets } = options;
    this.#options = options;
    this.instance = instance;
    this.#announced = instance.announced !== null || handle.announces === false;
    this.#tail = new LogTail({ database, clock, logger, instance, secrets });
    if (!this.#announced) this.#waitForReadyFile().catch(this.#failed("could not be marked ready"));
    if (instance.state === "starting") {
      this.#waitForHealth().catch(this.#failed("its health could not be checked"));
    }
    this.ended = runtime
      .ended(handle, this.#stop.signal)
      .then((exit) => this.#finish(exit))
      .finally(options.onSettled)
      .catch(this.#failed("could not be watched"));
  }

  /** Why it is not ready yet, in the words of the last probe. */
  get probe(): string {
    return this.#probe;
  }

  /** Records nothing more; somebody else watches the server. */
  async release(): Promise<void> {
    this.#released = true;
    this.#stop.abort();
    await this.#tail.release();
  }

  async #waitForReadyFile(): Promise<void> {
    const { fence, clock, instance, folder } = this.#options;
    const announced = await untilReadyFile(join(folder, readyFileName), this.#stop.signal);
    const message = `Serving ${announced.graphs.join(", ")}`;
    const place = { deploymentId: instance.deployment_id, revisionId: instance.revision_id };
    const line = { at: clock.now(), level: "INFO" as const, message };
    await untilRecorded(() => fence.write((tx) => insertLogs(tx, { ...place, kind: "deploy" }, [line])));
    await this.#keepAnnounced(announced);
  }

  async #keepAnnounced(announced: Announced): Promise<void> {
    const { fence, instance, onChange } = this.#options;
    await untilRecorded(() => fence.write((tx) => saveAnnounced(tx, instance.id, announced)));
    this.#announced = Object.keys(announced.broken).length === 0;
    await this.#becomeReady();
    onChange();
  }

  async #waitForHealth(): Promise<void> {
    const { instance, secret } = this.#options;
    await untilHealthy({ port: instance.port, secret }, this.#stop.signal, (what) => {
      this.#probe = what;
    });
    this.#healthy = true;
    this.#probe = "";
    await this.#becomeReady();
  }

  async #becomeReady(): Promise<void> {
    if (!this.#announced || !this.#healthy) return;
    const { fence, clock, instance, onChange, onSettled } = this.#options;
    const move = { from: ["starting" as const], to: "ready" as const };
    const record = () => fence.write((tx) => moveInstance(tx, instance.id, move, clock.now()));
    if (await untilRecorded(record)) onChange();
    onSettled();
  }

  async #finish(exit: Exit): Promise<void> {
    if (this.#released) return;
    const { fence, clock, logger, instance, folder } = this.#options;
    const { id } = instance;
    this.#stop.abort();
    await this.#tail.stop();
    await rm(folder, { recursive: true, force: true }).catch((error: unknown) => {
      // What a container made there may belong to a user whose folders this one cannot empty.
      logger.warn({ err: error, instance: id }, "the folder of a server that ended could not be removed");
    });
    const why = await untilRecorded(() =>
      fence.write(async (tx) => {
        const now = await readInstance(tx, id);
        const ended = now?.state === "stopping" ? stoppedByUs : exit;
        const move = { from: [...liveStates], to: "exited" as const, exit: ended };
        await moveInstance(tx, id, move, clock.now());
        return ended;
      }),
    );
    const facts = { instance: id, deployment: instance.deployment_id, reason: exitText(why) };
    logger.info(facts, "a deployed server ended");
  }

  #failed(what: string): (error: unknown) => void {
    const { logger, instance } = this.#options;
    return (error) => {
      if (!this.#stop.signal.aborted) logger.error({ err: error, instance: instance.id }, `a server ${what}`);
    };
  }
}
