import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { errorMessage } from "../../platform/errors.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import { within } from "../../platform/within.ts";
import { isLeaseOver, type ReconcileFence } from "../desired-state/reconcile-fence.ts";
import { saveImage } from "../desired-state/revision-store.ts";
import { instanceSecretContext } from "../encryption/sealed-columns.ts";
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
import type { Handle, PinnedImage, Runtime } from "./runtime.ts";
import { StartTurns } from "./start-turns.ts";

export type SupervisorOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  runtime: Runtime;
  secretBox: SecretBox;
  /** Through which everything is written. */
  fence: Pick<ReconcileFence, "write">;
  /** Logs and homes of servers. */
  folder: string;
  /** A server became ready, reported its graphs, or ended. */
  onChange(deploymentId: string): void;
  startsAtOnce?: number;
};

/** What a server that outlived the platform is held against; null when nobody wants it any more. */
export type WantedServer = { addresses: Addresses; secrets: string[] } | null;

/** Starts servers, watches them, and writes down what becomes of them. What to do about it is decided elsewhere. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #watches = new Map<string, InstanceWatch>();
  readonly #turns: StartTurns;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#turns = new StartTurns(options.startsAtOnce ?? Math.max(2, availableParallelism() * 2));
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
    const { database, runtime } = this.#options;
    for (const instance of await listLiveInstances(database.sql)) {
      const handle = instance.handle ?? (await runtime.find(instance.id));
      const alive = handle !== null && instance.runtime === runtime.name && (await runtime.isRunning(handle));
      if (alive && (await this.#keep(instance, handle, await wanted(instance)))) continue;
      if (alive) await runtime.kill(handle);
      await this.#recordEnd(
        instance.id,
        alive || instance.state === "stopping" ? stoppedByUs : lostMeanwhile,
      );
    }
  }

  /** Another process has the lease: watches nothing any more, and leaves every server as it is. */
  async release(): Promise<void> {
    const all = [...this.#watches.values()];
    this.#watches.clear();
    await Promise.all(all.map((watch) => watch.release()));
  }

  /** Asks a server to finish what it does and end. */
  async stop(instanceId: string): Promise<void> {
    const { database, fence, clock, runtime } = this.#options;
    const instance = await readInstance(database.sql, instanceId);
    if (!instance) return;
    const move = {
      from: ["starting" as const, "ready" as const, "draining" as const],
      to: "stopping" as const,
    };
    const moved = await fence.write((tx) => moveInstance(tx, instanceId, move, clock.now()));
    if (moved && instance.handle) await runtime.stop(instance.handle);
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
    await Promise.all(all.map(({ instance }) => this.stop(instance.id)));
    const ended = Promise.all(all.map((watch) => watch.ended));
    await within(graceMs, ended);
    await Promise.all([...this.#watches.keys()].map((id) => this.kill(id)));
    await ended;
  }

  /** What the servers watched here use now. */
  async usages() {
    const kept = [...this.#watches.values()].filter(({ instance }) => instance.handle !== null);
    const used = await this.#options.runtime.usages(kept.map(({ instance }) => instance.handle!));
    return kept.flatMap(({ instance }) => {
      const usage = used.get(instance.handle!);
      return usage ? [{ instanceId: instance.id, deploymentId: instance.deployment_id, usage }] : [];
    });
  }

  /** Why a starting server is not ready yet, in the words of its last probe. */
  lastProbe(instanceId: string): string {
    return this.#watches.get(instanceId)?.probe ?? "";
  }

  async #start(spec: LaunchSpec, onSettled: () => void): Promise<void> {
    const { fence, clock, runtime, secretBox, folder, onChange } = this.#options;
    const id = newId();
    const home = join(folder, "homes", spec.deploymentId);
    const port = await findFreePort();
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
    // Written down first: a server nobody knows of could never be stopped.
    await fence.write((tx) => insertInstance(tx, row, clock.now()));
    try {
      const handle = await runtime.start({
        instanceId: id,
        deploymentId: spec.deploymentId,
        workspaceId: spec.workspaceId,
        home,
        instanceFolder: this.#instanceFolder(id),
        port,
        folder: spec.folder,
        configPath: spec.configPath,
        image: spec.image,
        pinned: spec.pinned,
        environment: spec.environment(port, home, secret),
        logPath,
        resources: spec.resources,
      });
      const instance = await this.#recordStart(id, spec.revisionId, handle);
      this.#watch(instance, handle, spec.secrets, onSettled);
    } catch (error) {
      onSettled();
      if (isLeaseOver(error)) throw error;
      await this.#recordEnd(id, notStarted(errorMessage(error)));
      onChange(spec.deploymentId);
    }
  }

  /** A server whose start was given up by whoever has the lease now is nobody's, and ended. */
  async #recordStart(id: string, revisionId: string, handle: Handle): Promise<Instance> {
    const { database, fence, runtime } = this.#options;
    try {
      return await fence.write(async (tx) => {
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
    const { fence, logger } = this.#options;
    if (!wanted || instance.state === "stopping") return false;
    if (hashOf(wanted.addresses) !== instance.database_hash) return false;
    if (instance.handle === null) await fence.write((tx) => saveHandle(tx, instance.id, handle));
    logger.info({ instance: instance.id, port: instance.port }, "a deployed server still runs and is kept");
    this.#watch(instance, handle, wanted.secrets, () => {});
    return true;
  }

  #watch(instance: Instance, handle: Handle, known: readonly string[], onSettled: () => void): void {
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
    const { fence, clock } = this.#options;
    const move = { from: [...liveStates], to: "exited" as const, exit };
    await fence.write((tx) => moveInstance(tx, instanceId, move, clock.now()));
  }

  #instanceFolder(id: string): string {
    return join(this.#options.folder, "instances", id);
  }
}
