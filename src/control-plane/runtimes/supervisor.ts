import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import { within } from "../../platform/within.ts";
import { Turns } from "../builds/turns.ts";
import { insertLogs } from "../logs/log-store.ts";
import { saveImage } from "../revisions/revision-store.ts";
import { instanceSecretContext } from "../sealed-columns.ts";
import { type Exit, exitText, lostMeanwhile, notStarted, stoppedByUs } from "./exit.ts";
import { findFreePort } from "./free-port.ts";
import { untilHealthy } from "./health-probe.ts";
import type { Announced, Instance } from "./instance.ts";
import {
  insertInstance,
  listLiveInstances,
  moveInstance,
  readInstance,
  saveAnnounced,
  saveHandle,
} from "./instance-store.ts";
import { followLog, type LogTail } from "./log-tail.ts";
import { untilReadyFile } from "./ready-file.ts";
import { type PinnedImage, type Resources, type Runtime, readyFileName } from "./runtime.ts";

/** Where a server finds its database and the platform, and is found itself. */
export type Addresses = { database: string; own: string; traces: string | null };

export type LaunchSpec = {
  deploymentId: string;
  workspaceId: string;
  revisionId: string;
  attempt: number;
  folder: string | null;
  configPath: string;
  image: string | null;
  pinned: PinnedImage | null;
  resources: Resources;
  /** What a server gets once, at its start; one that was started with others is replaced. */
  addresses: Addresses;
  /** The platform's key in its environment, if there is one. */
  tracingKeyId: string | null;
  environment(port: number, home: string, instanceSecret: string): Record<string, string>;
  /** Cut out of what the server prints. */
  secrets: readonly string[];
};

export type SupervisorOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  runtime: Runtime;
  secretBox: SecretBox;
  /** Logs and homes of servers. */
  folder: string;
  /** A server became ready, reported its graphs, or ended. */
  onChange(deploymentId: string): void;
  /** Servers that start at once; more would only keep each other from being ready. */
  startsAtOnce?: number;
};

type Watched = {
  instance: Instance;
  tail: LogTail;
  stop: AbortController;
  done: Promise<void>;
  probe: string;
};

const retryMs = 1_000;
/** An hour. */
const maxRounds = 3_600;
/** A start that takes longer than this lets others begin beside it. */
const turnMs = 20_000;
const anyLive = ["starting", "ready", "draining", "stopping"] as const;

/** Starts servers, watches them, and writes down what becomes of them. What to do about it is decided elsewhere. */
export function createSupervisor(options: SupervisorOptions) {
  const { database, clock, logger, runtime, secretBox } = options;
  const watched = new Map<string, Watched>();
  const turns = new Turns(options.startsAtOnce ?? Math.max(2, availableParallelism() * 2));
  let halting = new AbortController();

  /** False when nothing is to begin any more. The turn ends when the server is ready or gone. */
  async function takeTurn(settled: Promise<void>): Promise<boolean> {
    const begun = Promise.withResolvers<boolean>();
    turns
      .run(halting.signal, async () => {
        begun.resolve(true);
        await within(turnMs, settled);
      })
      .catch(() => begun.resolve(false));
    return begun.promise;
  }

  const secretOf = ({ id, secret_sealed: sealed }: Instance) =>
    sealed === null ? null : secretBox.open(sealed, instanceSecretContext(id));

  function watch(
    instance: Instance,
    handle: Record<string, unknown>,
    known: readonly string[],
    onSettled: () => void = () => {},
  ): void {
    const secret = secretOf(instance);
    const secrets = secret === null ? known : [...known, secret];
    const stop = new AbortController();
    const changed = () => options.onChange(instance.deployment_id);
    const failed = (what: string) => (error: unknown) => {
      if (!stop.signal.aborted) logger.error({ err: error, instance: instance.id }, `a server ${what}`);
    };
    let announced = instance.announced !== null || handle.announces === false;
    let healthy = false;
    const becomeReady = async () => {
      if (!announced || !healthy) return;
      const move = { from: ["starting" as const], to: "ready" as const };
      if (await insist(() => moveInstance(database.sql, instance.id, move, clock.now()))) changed();
      onSettled();
    };
    const onAnnounced = async (reported: Announced) => {
      await insist(() => saveAnnounced(database.sql, instance.id, reported));
      announced = Object.keys(reported.broken).length === 0;
      await becomeReady();
      changed();
    };
    const tail = followLog({ database, clock, logger, instance, secrets });
    if (!announced) {
      untilReadyFile(join(instanceFolder(instance.id), readyFileName), stop.signal)
        .then(async (reported) => {
          const message = `Serving ${reported.graphs.join(", ")}`;
          const place = { deploymentId: instance.deployment_id, revisionId: instance.revision_id };
          const line = { at: clock.now(), level: "INFO" as const, message };
          await insist(() => insertLogs(database.sql, { ...place, kind: "deploy" }, [line]));
          await onAnnounced(reported);
        })
        .catch(failed("could not be marked ready"));
    }
    const entry: Watched = { instance, tail, stop, probe: "", done: Promise.resolve() };
    if (instance.state === "starting") {
      untilHealthy({ port: instance.port, secret }, stop.signal, (what) => {
        entry.probe = what;
      })
        .then(() => {
          healthy = true;
          entry.probe = "";
          return becomeReady();
        })
        .catch(failed("could not be asked whether it is well"));
    }
    entry.done = runtime
      .ended(handle, stop.signal)
      .then((exit) => finish(entry, exit))
      .finally(onSettled)
      .catch(failed("could not be watched"));
    watched.set(instance.id, entry);
  }

  const instanceFolder = (id: string) => join(options.folder, "instances", id);

  async function finish(entry: Watched, exit: Exit): Promise<void> {
    const { id, deployment_id } = entry.instance;
    entry.stop.abort();
    await entry.tail.stop();
    await rm(instanceFolder(id), { recursive: true, force: true }).catch((error: unknown) => {
      // What a container made there may belong to a user whose folders this one cannot empty.
      logger.warn({ err: error, instance: id }, "the folder of a server that ended could not be removed");
    });
    const why = await insist(async () => {
      const now = await readInstance(database.sql, id);
      const ended = now?.state === "stopping" ? stoppedByUs : exit;
      const move = { from: [...anyLive], to: "exited" as const, exit: ended };
      await moveInstance(database.sql, id, move, clock.now());
      return ended;
    });
    watched.delete(id);
    logger.info(
      { instance: id, deployment: deployment_id, reason: exitText(why) },
      "a deployed server ended",
    );
    options.onChange(deployment_id);
  }

  /** Retries while the database is away: what happened must be recorded all the same. */
  async function insist<T>(work: () => Promise<T>): Promise<T> {
    for (let round = 0; ; round += 1) {
      try {
        return await work();
      } catch (error) {
        if (round === maxRounds || !(error instanceof AppError && error.retryable)) throw error;
        await delay(retryMs);
      }
    }
  }

  async function launch(spec: LaunchSpec): Promise<void> {
    const settled = Promise.withResolvers<void>();
    if (!(await takeTurn(settled.promise))) return;
    try {
      await start(spec, settled.resolve);
    } catch (error) {
      settled.resolve();
      throw error;
    }
  }

  async function start(spec: LaunchSpec, onSettled: () => void): Promise<void> {
    const id = newId();
    const home = join(options.folder, "homes", spec.deploymentId);
    const port = await findFreePort();
    const logPath = join(options.folder, "logs", spec.deploymentId, `${id}.log`);
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
    await insertInstance(database.sql, row, clock.now());
    try {
      const handle = await runtime.start({
        instanceId: id,
        deploymentId: spec.deploymentId,
        workspaceId: spec.workspaceId,
        home,
        instanceFolder: instanceFolder(id),
        port,
        folder: spec.folder,
        configPath: spec.configPath,
        image: spec.image,
        pinned: spec.pinned,
        environment: spec.environment(port, home, secret),
        logPath,
        resources: spec.resources,
      });
      await saveHandle(database.sql, id, handle);
      if (handle.image) await saveImage(database.sql, spec.revisionId, handle.image as PinnedImage);
      watch((await readInstance(database.sql, id))!, handle, spec.secrets, onSettled);
    } catch (error) {
      onSettled();
      const exit = notStarted(errorMessage(error));
      await moveInstance(database.sql, id, { from: [...anyLive], to: "exited", exit }, clock.now());
      options.onChange(spec.deploymentId);
    }
  }

  /** After a restart of the platform: goes on with what still runs, and clears away what cannot be used. */
  async function adopt(
    usable: (instance: Instance) => Promise<{ addresses: Addresses; secrets: string[] } | null>,
  ) {
    for (const instance of await listLiveInstances(database.sql)) {
      const handle = instance.handle ?? (await runtime.find(instance.id));
      const alive = handle !== null && instance.runtime === runtime.name && (await runtime.isRunning(handle));
      const facts = alive ? await usable(instance) : null;
      if (
        alive &&
        facts &&
        hashOf(facts.addresses) === instance.database_hash &&
        instance.state !== "stopping"
      ) {
        if (instance.handle === null) await saveHandle(database.sql, instance.id, handle);
        logger.info(
          { instance: instance.id, port: instance.port },
          "a deployed server still runs and is kept",
        );
        watch(instance, handle, facts.secrets);
        continue;
      }
      if (alive) await runtime.kill(handle);
      const exit = alive || instance.state === "stopping" ? stoppedByUs : lostMeanwhile;
      await moveInstance(database.sql, instance.id, { from: [...anyLive], to: "exited", exit }, clock.now());
    }
  }

  async function stop(instanceId: string): Promise<void> {
    const instance = await readInstance(database.sql, instanceId);
    if (!instance) return;
    const moved = await moveInstance(
      database.sql,
      instanceId,
      { from: ["starting", "ready", "draining"], to: "stopping" },
      clock.now(),
    );
    if (moved && instance.handle) await runtime.stop(instance.handle);
  }

  async function kill(instanceId: string): Promise<void> {
    const instance = await readInstance(database.sql, instanceId);
    if (!instance || instance.state === "exited") return;
    if (instance.handle) await runtime.kill(instance.handle);
    // Nothing watches it, so nothing else will record its end.
    if (!watched.has(instanceId)) {
      await moveInstance(
        database.sql,
        instanceId,
        { from: [...anyLive], to: "exited", exit: stoppedByUs },
        clock.now(),
      );
      options.onChange(instance.deployment_id);
    }
  }

  /** Ends everything, in order, and waits for it. */
  async function stopAll(graceMs: number): Promise<void> {
    const all = [...watched.values()];
    await Promise.all(all.map(({ instance }) => stop(instance.id)));
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, graceMs);
    });
    await Promise.race([Promise.all(all.map(({ done }) => done)), patience]);
    clearTimeout(timer);
    await Promise.all([...watched.keys()].map(kill));
    await Promise.all(all.map(({ done }) => done));
  }

  return {
    launch,
    /** What waits for its turn does not begin any more. */
    halt() {
      halting.abort();
      halting = new AbortController();
    },
    adopt,
    stop,
    kill,
    stopAll,
    /** What the servers watched here use now. */
    async usages() {
      const entries = [...watched.values()].filter(({ instance }) => instance.handle !== null);
      const used = await runtime.usages(entries.map(({ instance }) => instance.handle!));
      return entries.flatMap(({ instance }) => {
        const usage = used.get(instance.handle!);
        return usage ? [{ instanceId: instance.id, deploymentId: instance.deployment_id, usage }] : [];
      });
    },
    /** Why a starting server is not ready yet, in the words of its last probe. */
    lastProbe: (instanceId: string) => watched.get(instanceId)?.probe ?? "",
  };
}

export type Supervisor = ReturnType<typeof createSupervisor>;

/** Hashed, because the database's address holds its password. */
function hashOf({ database, own, traces }: Addresses): string {
  return createHash("sha256")
    .update(JSON.stringify([database, own, traces]))
    .digest("hex");
}
