import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import { leaseOver, type ReconcileFence } from "../desired-state/reconcile-fence.ts";
import { noteWaiting } from "../desired-state/revision-store.ts";
import type { Endpoint } from "../endpoints/endpoint.ts";
import { markEndpointsReady, removeEndpoints, saveEndpoints } from "../endpoints/endpoint-store.ts";
import { insertLogs } from "../logs/log-store.ts";
import { type Exit, exitText, stoppedByUs } from "./exit.ts";
import { untilAnnounced, untilHealthy } from "./health-probe.ts";
import { type Announced, type Instance, liveStates } from "./instance.ts";
import { moveInstance, readInstance, saveAnnounced } from "./instance-store.ts";
import { LogTail } from "./log-tail.ts";
import { untilReadyFile } from "./ready-file.ts";
import { type Handle, type LostPod, type Runtime, readyFileName, type Usage } from "./runtime.ts";
import { noteTrouble } from "./trouble-store.ts";
import { untilRecorded } from "./until-recorded.ts";
import { askUsage } from "./usage-report.ts";

export type WatchOptions = {
  database: Database;
  /** Through which everything but lines of the log is written. */
  fence: Pick<ReconcileFence, "write">;
  clock: Clock;
  logger: Logger;
  runtime: Runtime;
  instance: Instance;
  handle: Handle;
  /** Where it takes requests. */
  host: string;
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
  #endpoints: readonly Endpoint[] = [];
  #lost: ReadonlySet<string> | undefined;
  #trouble: string | undefined;
  #released = false;
  #probe = "";

  constructor(options: WatchOptions) {
    const { database, clock, logger, instance, handle, runtime, secrets } = options;
    this.#options = options;
    this.instance = instance;
    this.#announced = instance.announced !== null || handle.announces === false;
    this.#tail = new LogTail({ database, clock, logger, instance, secrets });
    if (runtime.observe) this.#observe().catch(this.#failed("could not be observed"));
    else if (!this.#announced) this.#waitForReadyFile().catch(this.#failed("could not be marked ready"));
    if (!runtime.observe && instance.state === "starting") {
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

  /** What each of its replicas uses, in its own words; those that say nothing are left out. */
  async replicaUsages(): Promise<{ name: string; usage: Usage }[]> {
    const { secret } = this.#options;
    if (this.#stop.signal.aborted) return [];
    const asked = this.#endpoints
      .filter(({ ready }) => ready)
      .map(async (endpoint) => {
        const usage = await askUsage({ ...endpoint, secret }, { withRuns: false }, this.#stop.signal);
        return usage ? [{ name: endpoint.name, usage }] : [];
      });
    return (await Promise.all(asked)).flat();
  }

  /** Records nothing more; another process watches the server. */
  async release(): Promise<void> {
    this.#released = true;
    this.#stop.abort();
    // A child of this process goes on, and its turn would be held until it ends.
    this.#options.onSettled();
    await this.#tail.release();
  }

  /**
   * Its endpoints are written down as they come and go. One that takes requests is asked what it serves; another one,
   * should the first go away meanwhile.
   */
  async #observe(): Promise<void> {
    const { instance, handle, runtime } = this.#options;
    let asking: { name: string; stop: AbortController } | undefined;
    for await (const seen of runtime.observe!(handle, this.#stop.signal)) {
      const { endpoints, ready, problem, lost = [] } = seen;
      this.#endpoints = endpoints;
      await this.#record((tx) => saveEndpoints(tx, instance.id, endpoints));
      await this.#noteLost(lost);
      if (this.#healthy || instance.state === "ready") await this.#noteTrouble(ready ? "" : problem);
      if (this.#healthy) continue;
      if (asking && isReady(endpoints, asking.name)) continue;
      asking?.stop.abort();
      asking = undefined;
      await this.#tell(problem);
      this.#probe = problem;
      const [first] = endpoints.filter((endpoint) => endpoint.ready);
      if (!ready || !first) continue;
      const stop = new AbortController();
      asking = { name: first.name, stop };
      this.#ask(first, AbortSignal.any([stop.signal, this.#stop.signal])).catch((error: unknown) => {
        // Another one is asked instead, or nobody any more.
        if (!stop.signal.aborted) this.#failed("could not be asked whether it serves")(error);
      });
    }
  }

  /** Each once: what is there at the first look was noted by whoever watched the server before. */
  async #noteLost(lost: readonly LostPod[]): Promise<void> {
    const known = this.#lost;
    this.#lost = new Set([...(known ?? []), ...lost.map(({ name }) => name)]);
    const added = known ? lost.filter(({ name }) => !known.has(name)) : [];
    if (added.length > 0) await this.#log("WARNING", added.map(lostText));
  }

  /** It served before, perhaps when another process watched it. Why it does not any more is the cluster's to say. */
  async #noteTrouble(problem: string): Promise<void> {
    const { clock, instance } = this.#options;
    const text = problem.replace(/\.$/, "");
    if (text === this.#trouble) return;
    const isNew = await this.#record((tx) => noteTrouble(tx, instance, text, clock.now()));
    this.#trouble = text;
    if (isNew && text !== "") await this.#log("WARNING", [`The server is not well: ${text}.`]);
    else if (isNew) await this.#log("INFO", ["The server is well again."]);
  }

  async #log(level: "INFO" | "WARNING", messages: readonly string[]): Promise<void> {
    const { clock, instance } = this.#options;
    const { deployment_id: deploymentId, revision_id: revisionId } = instance;
    const lines = messages.map((message) => ({ at: clock.now(), level, message }));
    await this.#record((tx) => insertLogs(tx, { deploymentId, revisionId, kind: "deploy" }, lines));
  }

  /** A person who waits for the revision sees why. */
  async #tell(problem: string): Promise<void> {
    const { clock, instance } = this.#options;
    if (problem === "" || problem === this.#probe) return;
    await this.#record((tx) => noteWaiting(tx, instance.revision_id, problem, clock.now()));
  }

  async #ask(endpoint: Endpoint, signal: AbortSignal): Promise<void> {
    const { secret, instance } = this.#options;
    const server = { ...endpoint, secret };
    const onRefusal = (what: string) => {
      this.#probe = what;
    };
    await untilHealthy(server, signal, onRefusal);
    const isAsked = instance.announced === null && !this.#announced;
    const announced = isAsked ? await untilAnnounced(server, signal, onRefusal) : null;
    this.#healthy = true;
    this.#probe = "";
    if (announced) return await this.#announce(announced);
    this.#announced ||= isAsked;
    await this.#becomeReady();
  }

  async #waitForReadyFile(): Promise<void> {
    const { folder } = this.#options;
    await this.#announce(await untilReadyFile(join(folder, readyFileName), this.#stop.signal));
  }

  async #announce(announced: Announced): Promise<void> {
    const message =
      announced.graphs.length > 0
        ? `Serving ${announced.graphs.join(", ")}`
        : "None of its graphs can be served";
    await this.#log("INFO", [message]);
    await this.#keepAnnounced(announced);
  }

  async #keepAnnounced(announced: Announced): Promise<void> {
    const { instance, onChange } = this.#options;
    await this.#record((tx) => saveAnnounced(tx, instance.id, announced));
    this.#announced = Object.keys(announced.broken).length === 0;
    await this.#becomeReady();
    onChange();
  }

  async #waitForHealth(): Promise<void> {
    const { instance, host, secret } = this.#options;
    await untilHealthy({ host, port: instance.port, secret }, this.#stop.signal, (what) => {
      this.#probe = what;
    });
    this.#healthy = true;
    this.#probe = "";
    await this.#becomeReady();
  }

  async #becomeReady(): Promise<void> {
    if (!this.#announced || !this.#healthy) return;
    const { clock, instance, runtime, onChange, onSettled } = this.#options;
    const move = { from: ["starting" as const], to: "ready" as const };
    await this.#record(async (tx) => {
      if (!runtime.observe) await markEndpointsReady(tx, instance.id);
      return moveInstance(tx, instance.id, move, clock.now());
    });
    // Whoever moved it: the answer of an earlier try may have been lost, and nobody else would tell.
    onChange();
    onSettled();
  }

  async #finish(exit: Exit): Promise<void> {
    if (this.#released) return;
    const { clock, logger, instance, folder } = this.#options;
    const { id } = instance;
    this.#stop.abort();
    await this.#tail.stop();
    await rm(folder, { recursive: true, force: true }).catch((error: unknown) => {
      // What a container made there may belong to a user whose folders this one cannot empty.
      logger.warn({ err: error, instance: id }, "the folder of a server that ended could not be removed");
    });
    const why = await this.#record(async (tx) => {
      const now = await readInstance(tx, id);
      const ended = now?.state === "stopping" ? stoppedByUs : exit;
      const move = { from: [...liveStates], to: "exited" as const, exit: ended };
      await moveInstance(tx, id, move, clock.now());
      await removeEndpoints(tx, id);
      return ended;
    });
    const facts = { instance: id, deployment: instance.deployment_id, reason: exitText(why) };
    logger.info(facts, "a deployed server ended");
  }

  /** Never in a later tenure of this process, whose own watch knows better. */
  #record<T>(work: (tx: Sql) => Promise<T>): Promise<T> {
    return untilRecorded(async () => {
      if (this.#released) throw leaseOver();
      return await this.#options.fence.write(work);
    });
  }

  #failed(what: string): (error: unknown) => void {
    const { logger, instance } = this.#options;
    return (error) => {
      if (!this.#stop.signal.aborted) logger.error({ err: error, instance: instance.id }, `a server ${what}`);
    };
  }
}

const isReady = (endpoints: readonly Endpoint[], name: string) =>
  endpoints.some((endpoint) => endpoint.name === name && endpoint.ready);

const lostText = ({ name, node }: LostPod) =>
  `The node ${node} does not respond. Its pod ${name} is replaced by one on another node, which continues its runs.`;
