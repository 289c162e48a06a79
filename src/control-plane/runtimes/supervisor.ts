import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { errorMessage } from "../../platform/errors.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import { KeyedLock } from "../../platform/keyed-lock.ts";
import type { Logger } from "../../platform/logger.ts";
import { within } from "../../platform/within.ts";
import { isLeaseOver, type ReconcileFence } from "../desired-state/reconcile-fence.ts";
import { saveImage } from "../desired-state/revision-store.ts";
import { instanceSecretContext } from "../encryption/sealed-columns.ts";
import { onlyEndpoint } from "../endpoints/endpoint.ts";
import {
  listEndpoints,
  markEndpointsReady,
  removeEndpoints,
  saveEndpoints,
} from "../endpoints/endpoint-store.ts";
import { type Exit, lostMeanwhile, notStarted, stoppedByUs } from "./exit.ts";
import { findFreePort } from "./free-port.ts";
import { type Instance, liveStates } from "./instance.ts";
import {
  insertInstance,
  listLiveInstances,
  moveInstance,
  readInstance,
  saveHandle,
} from "./instance-store.ts";
import { InstanceWatch } from "./instance-watch.ts";
import { type Addresses, hashOf, type LaunchSpec } from "./launch-spec.ts";
import { listenAddress } from "./listen-address.ts";
import type { Handle, PinnedImage, Runtime, StartSpec } from "./runtime.ts";
import { StartTurns } from "./start-turns.ts";
import { untilRecorded } from "./until-recorded.ts";

export type SupervisorOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  runtime: Runtime;
  secretBox: SecretBox;
  /** Through which everything is written; its signal ends a start. */
  fence: Pick<ReconcileFence, "write" | "signal">;
  /** Logs and homes of servers. */
  folder: string;
  /** A server became ready, reported its graphs, or ended. */
  onChange(deploymentId: string): void;
  startsAtOnce?: number;
  /** A start that takes longer than this lets others begin beside it. */
  startTurnMs?: number;
};

/** What a server that outlived the platform is compared with; null when it is no longer wanted. */
export type WantedServer = { addresses: Addresses; secrets: string[] } | null;

type Write = <T>(work: (tx: Sql) => Promise<T>) => Promise<T>;

type Watched = {
  handle: Handle;
  host: string;
  /** Cut out of what the server prints. */
  secrets: readonly string[];
  onSettled(): void;
};

const loopback = "127.0.0.1";
/** Servers of before a restart; each takes some statements, and seconds when it has to be ended. */
const adoptedAtOnce = 8;

/** Starts servers, watches them, and writes down what becomes of them. What to do about it is decided elsewhere. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #watches = new Map<string, InstanceWatch>();
  readonly #turns: StartTurns;
  /** A server that is stopped is not scaled at the same time. */
  readonly #locks = new KeyedLock();
  /**
   * Again while the database is away, until the lease is over: otherwise a server that runs would have no watch, and one
   * whose row was stored, with the answer lost, would be waited for. So the work must do no harm when it is done twice.
   */
  readonly #write: Write = (work) => untilRecorded(() => this.#options.fence.write(work));

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const { startsAtOnce = Math.max(2, availableParallelism() * 2), startTurnMs = 20_000 } = options;
    this.#turns = new StartTurns(startsAtOnce, startTurnMs);
  }

  /** Returns when it runs, or is known not to; that it serves comes by `onChange`. */
  async launch(spec: LaunchSpec): Promise<void> {
    const settled = Promise.withResolvers<void>();
    if (!(await this.#turns.take(settled.promise))) return;
    try {
      await this.#start(spec, settled.resolve);
    } catch (error) {
      settled.resolve();
      throw error;
    }
  }

  /** What waits for its turn does not begin any more. */
  halt(): void {
    this.#turns.halt();
  }

  /** After a restart of the platform: goes on with what still runs, and clears away what cannot be used. */
  async adopt(wanted: (instance: Instance) => Promise<WantedServer>): Promise<void> {
    const live = (await listLiveInstances(this.#options.database.sql)).values();
    const adoptRest = async () => {
      for (const instance of live) await this.#adopt(instance, wanted);
    };
    const ends = await Promise.allSettled(Array.from({ length: adoptedAtOnce }, adoptRest));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
    await this.removeOthers();
  }

  async #adopt(instance: Instance, wanted: (instance: Instance) => Promise<WantedServer>): Promise<void> {
    const { runtime } = this.#options;
    const handle = instance.handle ?? (await runtime.find(instance.id));
    const alive = handle !== null && instance.runtime === runtime.name && (await runtime.isRunning(handle));
    if (alive && (await this.#keep(instance, handle, await wanted(instance)))) return;
    if (alive) await runtime.kill(handle);
    await this.#recordEnd(instance.id, alive || instance.state === "stopping" ? stoppedByUs : lostMeanwhile);
  }

  /** What was started for nothing that lives. */
  async removeOthers(): Promise<void> {
    const { database, runtime } = this.#options;
    await runtime.removeOthers?.(async () => {
      const live = await listLiveInstances(database.sql);
      return new Set(live.map(({ id }) => id));
    });
  }

  /** Another process has the lease: watches nothing any more, and leaves every server as it is. */
  async release(): Promise<void> {
    const all = [...this.#watches.values()];
    this.#watches.clear();
    await Promise.all(all.map((watch) => watch.release()));
  }

  /** Asks a server to finish what it does and end. */
  async stop(instanceId: string): Promise<void> {
    await this.#locks.run(instanceId, () => this.#stop(instanceId, this.#write));
  }

  /** False when it does not serve any more. `busy`: see the runtime. */
  async scale(instanceId: string, replicas: number, busy: ReadonlyMap<string, number>): Promise<boolean> {
    const { fence, runtime } = this.#options;
    return await this.#locks.run(instanceId, async () => {
      const instance = await fence.write((tx) => readInstance(tx, instanceId));
      if (instance?.state !== "ready" || !instance.handle || !runtime.scale) return false;
      await runtime.scale(instance.handle, replicas, busy);
      return true;
    });
  }

  async #stop(instanceId: string, write: Write): Promise<void> {
    const { database, clock, runtime } = this.#options;
    const instance = await readInstance(database.sql, instanceId);
    if (!instance || instance.state === "stopping") return;
    const from = ["starting" as const, "ready" as const, "draining" as const];
    const isStopping = await write(async (tx) => {
      const isMoved = await moveInstance(tx, instanceId, { from, to: "stopping" }, clock.now());
      // Moved by an earlier try, whose answer was lost.
      return isMoved || (await readInstance(tx, instanceId))?.state === "stopping";
    });
    if (isStopping && instance.handle) await runtime.stop(instance.handle);
  }

  async kill(instanceId: string): Promise<void> {
    const { database, runtime, onChange } = this.#options;
    const instance = await readInstance(database.sql, instanceId);
    if (!instance || instance.state === "exited") return;
    if (instance.handle) await runtime.kill(instance.handle);
    // Nothing watches it, so nothing else will record its end.
    if (!this.#watches.has(instanceId)) {
      await this.#recordEnd(instanceId, stoppedByUs);
      onChange(instance.deployment_id);
    }
  }

  /** Ends everything, in order, and waits for it. */
  async stopAll(graceMs: number): Promise<void> {
    const all = [...this.#watches.values()];
    // Once: the platform ends in time, also while the database is away.
    const once: Write = (work) => this.#options.fence.write(work);
    const ask = ({ id }: Instance) => this.#locks.run(id, () => this.#stop(id, once));
    await Promise.all(all.map(({ instance }) => ask(instance)));
    const ended = Promise.all(all.map((watch) => watch.ended));
    await within(graceMs, ended);
    await Promise.all([...this.#watches.keys()].map((id) => this.kill(id)));
    await ended;
  }

  /** What the servers watched here use now. */
  async usages() {
    const kept = [...this.#watches.values()].filter(({ instance }) => instance.handle !== null);
    if (this.#options.runtime.observe) return (await Promise.all(kept.map(usagesOfReplicas))).flat();
    const used = await this.#options.runtime.usages(kept.map(({ instance }) => instance.handle!));
    return kept.flatMap(({ instance }) => {
      const usage = used.get(instance.handle!);
      return usage ? [{ key: instance.id, deploymentId: instance.deployment_id, usage }] : [];
    });
  }

  /** Why a starting server is not ready yet, in the words of its last probe. */
  lastProbe(instanceId: string): string {
    return this.#watches.get(instanceId)?.probe ?? "";
  }

  async #start(spec: LaunchSpec, onSettled: () => void): Promise<void> {
    const { clock, runtime, secretBox, folder, onChange } = this.#options;
    const { signal } = this.#options.fence;
    const id = newId();
    const home = join(folder, "homes", spec.deploymentId);
    const host = runtime.host ?? loopback;
    const listenHost = listenAddress(host);
    const port = await findFreePort(listenHost);
    const logPath = join(folder, "logs", spec.deploymentId, `${id}.log`);
    const secret = newSecret();
    const row = {
      id,
      deployment_id: spec.deploymentId,
      revision_id: spec.revisionId,
      runtime: runtime.name,
      attempt: spec.attempt,
      port,
      log_path: logPath,
      database_hash: hashOf(spec.addresses),
      tracing_key_id: spec.tracingKeyId,
      secret_sealed: secretBox.seal(secret, instanceSecretContext(id)),
    };
    // Recorded first: a server without a record could never be stopped.
    await this.#write(async (tx) => {
      await insertInstance(tx, row, clock.now());
      if (runtime.host !== null)
        await saveEndpoints(tx, id, [{ name: onlyEndpoint, host, port, ready: false }]);
    });
    try {
      const start: StartSpec = {
        instanceId: id,
        deploymentId: spec.deploymentId,
        revisionId: spec.revisionId,
        workspaceId: spec.workspaceId,
        home,
        instanceFolder: this.#instanceFolder(id),
        port,
        folder: spec.folder,
        configPath: spec.configPath,
        image: spec.image,
        pinned: spec.pinned,
        environment: spec.environment({ listenHost, port, home, instanceSecret: secret }),
        namespace: spec.namespace ?? null,
        secretReferences: spec.secretReferences ?? [],
        logPath,
        resources: spec.resources,
        scale: spec.scale,
        replicasBefore: this.#replicasNow(spec.deploymentId),
      };
      const handle = await runtime.start(start, signal);
      const instance = await this.#recordStart(id, spec.revisionId, handle);
      this.#watch(instance, { handle, host, secrets: spec.secrets, onSettled });
    } catch (error) {
      onSettled();
      if (isLeaseOver(error)) throw error;
      await this.#recordEnd(id, notStarted(errorMessage(error)));
      onChange(spec.deploymentId);
    }
  }

  #replicasNow(deploymentId: string): number {
    const own = [...this.#watches.values()].filter(({ instance }) => instance.deployment_id === deploymentId);
    const { runtime } = this.#options;
    return Math.max(0, ...own.map(({ instance: { handle } }) => (handle && runtime.replicas?.(handle)) || 0));
  }

  /** If the current holder of the lease has given up this start, the server belongs to no revision and is ended. */
  async #recordStart(id: string, revisionId: string, handle: Handle): Promise<Instance> {
    const { database, runtime } = this.#options;
    try {
      return await this.#write(async (tx) => {
        await saveHandle(tx, id, handle);
        if (handle.image) await saveImage(tx, revisionId, handle.image as PinnedImage);
        return (await readInstance(tx, id))!;
      });
    } catch (error) {
      if (isLeaseOver(error) && (await readInstance(database.sql, id))?.state === "exited")
        await runtime.kill(handle);
      throw error;
    }
  }

  /** False for one that is not wanted any more, or that was started with other addresses. */
  async #keep(instance: Instance, handle: Handle, wanted: WantedServer): Promise<boolean> {
    const { database, fence, logger, runtime } = this.#options;
    if (!wanted || instance.state === "stopping") return false;
    if (hashOf(wanted.addresses) !== instance.database_hash) return false;
    if (instance.handle === null) await fence.write((tx) => saveHandle(tx, instance.id, handle));
    // An earlier version that saw it become ready did not write that down here.
    if (!runtime.observe && (instance.state === "ready" || instance.state === "draining"))
      await fence.write((tx) => markEndpointsReady(tx, instance.id));
    logger.info({ instance: instance.id, port: instance.port }, "a deployed server still runs and is kept");
    const [endpoint] = await listEndpoints(database.sql, instance.id);
    const host = endpoint?.host ?? loopback;
    this.#watch(instance, { handle, host, secrets: wanted.secrets, onSettled: () => {} });
    return true;
  }

  #watch(instance: Instance, { handle, host, secrets: known, onSettled }: Watched): void {
    const { database, fence, clock, logger, runtime, secretBox, onChange } = this.#options;
    const { id, deployment_id: deploymentId, secret_sealed: sealed } = instance;
    const secret = sealed === null ? null : secretBox.open(sealed, instanceSecretContext(id));
    const watch = new InstanceWatch({
      database,
      fence,
      clock,
      logger,
      runtime,
      instance,
      handle,
      host,
      secret,
      secrets: secret === null ? known : [...known, secret],
      folder: this.#instanceFolder(id),
      onChange: () => onChange(deploymentId),
      onSettled,
    });
    this.#watches.set(id, watch);
    watch.ended.finally(() => {
      if (this.#watches.get(id) === watch) this.#watches.delete(id);
      onChange(deploymentId);
    });
  }

  async #recordEnd(instanceId: string, exit: Exit): Promise<void> {
    const { clock } = this.#options;
    const move = { from: [...liveStates], to: "exited" as const, exit };
    await this.#write(async (tx) => {
      await moveInstance(tx, instanceId, move, clock.now());
      await removeEndpoints(tx, instanceId);
    });
  }

  #instanceFolder(id: string): string {
    return join(this.#options.folder, "instances", id);
  }
}

/** Only the replicas know. One that ends while it is asked is left out. */
async function usagesOfReplicas(watch: InstanceWatch) {
  const { id, deployment_id: deploymentId } = watch.instance;
  const used = await watch.replicaUsages().catch(() => []);
  return used.map(({ name, usage }) => ({ key: `${id}/${name}`, deploymentId, usage }));
}
