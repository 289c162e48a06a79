import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { cancelBuild, enqueueBuild } from "../desired-state/build-jobs.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { explainFailure } from "../desired-state/failure.ts";
import { isLeaseOver, type ReconcileFence } from "../desired-state/reconcile-fence.ts";
import {
  announceDeployment,
  insertEvent,
  moveRevision,
  noteProgress,
  readRevision,
} from "../desired-state/revision-store.ts";
import { markDrained } from "../gateway/gateway-store.ts";
import { insertLogs, lastLines } from "../logs/log-store.ts";
import { crashLoopAttempts } from "../runtimes/instance.ts";
import { moveInstance } from "../runtimes/instance-store.ts";
import type { Supervisor } from "../runtimes/supervisor.ts";
import type { DeploymentTracing } from "../tracing/deployment-tracing.ts";
import type { LaunchPlanner } from "./launch-planner.ts";
import {
  forgetTraces,
  holdDeleted,
  isNameTaken,
  markDatabaseReady,
  restorePrevious,
  switchActive,
} from "./observation-store.ts";
import type { Operation, RenewalReason } from "./plan.ts";
import { provisionDatabase } from "./provision-database.ts";
import type { SleepKeeper } from "./sleep-keeper.ts";

export type ExecutorOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** Through which everything is written. */
  fence: Pick<ReconcileFence, "write" | "signal">;
  supervisor: Supervisor;
  launches: LaunchPlanner;
  sleep: SleepKeeper;
  /** The gateway forgets where this deployment is served and looks again. */
  forgetRoute(deploymentId: string): void;
  urlOf(deployment: Deployment): string;
  tracing: Pick<DeploymentTracing, "removeProject">;
  /** Removes its database, its files and last its row. */
  purge(deployment: Deployment): Promise<void>;
};

const shownLines = 12;
/** More than one start writes of them. */
const routineLines = 200;
const isRoutine = (line: string) =>
  /\bmigrations? applied\b|^the database was brought up to date\b/.test(line);
const fetchText = "Waiting for the storage: what was built is fetched to this machine.";
const renewalText: Record<RenewalReason, string> = {
  restart_asked: "Restart requested. A new server is being started and takes over when it is ready.",
  tracing_key:
    "The key this server sends its traces with has been replaced: it was revoked, or it would soon expire. A server with a new key is being started and takes over when it is ready. Traces sent with a revoked key until then are lost.",
};

/** Performs what was planned. Each step checks in the database that it is still wanted. */
export class Executor {
  readonly #options: ExecutorOptions;
  readonly #database: Database;
  readonly #fence: Pick<ReconcileFence, "write" | "signal">;
  readonly #clock: Clock;
  readonly #supervisor: Supervisor;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#database = options.database;
    this.#fence = options.fence;
    this.#clock = options.clock;
    this.#supervisor = options.supervisor;
  }

  async execute(deployment: Deployment, operation: Operation): Promise<void> {
    const { forgetRoute, urlOf, purge } = this.#options;
    switch (operation.kind) {
      case "skip":
        return this.#move(
          operation.revisionId,
          "SKIPPED",
          `Skipped: revision ${operation.newerNumber} is newer.`,
        );
      case "admit":
        return this.#move(
          operation.revisionId,
          operation.status,
          operation.status === "AWAITING_BUILD" ? "Waiting for a free builder." : "Waiting to be deployed.",
        );
      case "build":
        return this.#fence.write((tx) => enqueueBuild(tx, operation.revisionId));
      case "interrupt":
        return this.#interrupt(deployment.id, operation.revisionId, operation.message);
      case "provision":
        return this.#provision(deployment, operation.revisionId);
      case "begin_deploy":
        return this.#move(operation.revisionId, "DEPLOYING", "Starting the server.");
      case "start":
        return this.#start(deployment, operation.revisionId, operation.attempt);
      case "fail":
        return this.#fail(operation);
      case "switch":
        return this.#takeOver(deployment, operation.revisionId, operation.instanceId);
      case "roll_back":
        return this.#rollBack(deployment, operation);
      case "renew":
        return this.#renew(deployment, operation);
      case "hold":
        return this.#note(operation.revisionId, { kind: "held", message: operation.message });
      case "hand_over":
        return this.#handOver(deployment, operation.revisionId, operation.instanceId);
      case "drain":
        await this.#drain(operation.instanceId);
        return;
      case "undrain":
        await this.#moveInstance(operation.instanceId, { from: ["draining"], to: "ready" });
        return forgetRoute(deployment.id);
      case "stop":
        await this.#supervisor.stop(operation.instanceId);
        return forgetRoute(deployment.id);
      case "kill":
        return this.#supervisor.kill(operation.instanceId);
      case "recovered":
        return this.#note(operation.revisionId, {
          kind: "recovered",
          message: `Serving at ${urlOf(deployment)}`,
        });
      case "doze":
      case "stay_awake":
      case "fall_asleep":
      case "settle":
      case "wake":
      case "woken":
        return this.#options.sleep.execute(deployment, operation);
      case "remove_traces":
        return this.#removeTraces(deployment);
      case "purge":
        return purge(deployment);
    }
  }

  /** A new deployment may have taken the name, and the project with it. */
  async #removeTraces({ id, workspace_id, name }: Deployment): Promise<void> {
    if (!(await isNameTaken(this.#database.sql, workspace_id, name)))
      await this.#options.tracing.removeProject(workspace_id, name);
    await this.#fence.write((tx) => forgetTraces(tx, id));
  }

  #moveInstance(id: string, move: Parameters<typeof moveInstance>[2]): Promise<boolean> {
    return this.#fence.write((tx) => moveInstance(tx, id, move, this.#clock.now()));
  }

  /** Gateways have to acknowledge it before the server is stopped. */
  #drain(id: string): Promise<boolean> {
    return this.#fence.write(async (tx) => {
      const move = { from: ["ready" as const], to: "draining" as const };
      const moved = await moveInstance(tx, id, move, this.#clock.now());
      if (moved) await markDrained(tx, id);
      return moved;
    });
  }

  async #move(revisionId: string, status: Parameters<typeof moveRevision>[2]["status"], message: string) {
    await this.#fence.write((tx) => moveRevision(tx, revisionId, { status, message }, this.#clock.now()));
  }

  /** Of a removal: a listener's deployment may be wanted again meanwhile. */
  async #interrupt(deploymentId: string, revisionId: string, message: string): Promise<void> {
    await this.#fence.write(async (tx) => {
      if (!(await holdDeleted(tx, deploymentId))) return;
      // The build first, as everybody who locks both does.
      await cancelBuild(tx, revisionId);
      await moveRevision(tx, revisionId, { status: "INTERRUPTED", message }, this.#clock.now());
    });
  }

  async #provision(deployment: Deployment, revisionId: string): Promise<void> {
    await this.#note(revisionId, { kind: "database", message: "Creating the database.", progress: 66 });
    try {
      const own = this.#options.launches.ownDatabase(deployment);
      await provisionDatabase(this.#database.sql, deployment.id, own);
    } catch (error) {
      if (error instanceof AppError && error.retryable) throw error;
      return this.#move(
        revisionId,
        "CREATE_FAILED",
        `The database could not be created: ${errorMessage(error)}`,
      );
    }
    await this.#fence.write(async (tx) => {
      await markDatabaseReady(tx, deployment.id);
      await announceDeployment(tx, deployment.id);
    });
  }

  async #start(deployment: Deployment, revisionId: string, attempt: number): Promise<void> {
    const revision = await readRevision(this.#database.sql, revisionId);
    if (!revision) return;
    const isRestart = deployment.active_revision_id === revisionId;
    const looping = isRestart && attempt >= crashLoopAttempts;
    const condition = looping ? "crash_loop" : isRestart ? "restarting" : null;
    if (isRestart && attempt > 1) {
      const lines = await this.#projectLines(revisionId);
      const what = looping
        ? "Crash loop: the server keeps ending."
        : "The server ended and is being started again.";
      const message = `${what} Start number ${attempt}. Its last lines:\n${lines.join("\n")}`;
      await this.#note(revisionId, { kind: looping ? "crash_loop" : "restart", message, condition });
    }
    const onFetch = async () => {
      // Once, however often a storage that is away is asked again.
      if (revision.status_message === fetchText) return;
      await this.#note(revisionId, { kind: "fetch", message: fetchText, condition });
    };
    try {
      const fetching = { signal: this.#fence.signal, onFetch };
      await this.#supervisor.launch(
        await this.#options.launches.plan(deployment, revision, attempt, fetching),
      );
    } catch (error) {
      if (isLeaseOver(error)) throw error;
      // What serves is tried again and again; what was to be deployed has failed.
      if (isRestart || (error instanceof AppError && error.retryable)) throw error;
      await this.#move(revisionId, "DEPLOY_FAILED", errorMessage(error));
    }
  }

  async #renew(
    deployment: Deployment,
    { revisionId, attempt, because }: Extract<Operation, { kind: "renew" }>,
  ): Promise<void> {
    const revision = await readRevision(this.#database.sql, revisionId);
    if (!revision) return;
    const again = attempt > 1 ? ` Start number ${attempt}: the one before did not become ready.` : "";
    const message = `${renewalText[because]}${again}`;
    await this.#recordEvent(deployment.id, revisionId, { kind: because, message });
    const place = { deploymentId: deployment.id, revisionId, kind: "deploy" } as const;
    const level = because === "restart_asked" ? "INFO" : "WARNING";
    await this.#fence.write((tx) => insertLogs(tx, place, [{ at: this.#clock.now(), level, message }]));
    this.#options.logger.info({ deployment: deployment.id, attempt, because }, "a server is being replaced");
    const { signal } = this.#fence;
    await this.#supervisor.launch(
      await this.#options.launches.plan(deployment, revision, attempt, { signal }),
    );
  }

  /** The gateway takes the newest server that is ready; the older one answers what it has begun. */
  async #handOver(deployment: Deployment, revisionId: string, instanceId: string): Promise<void> {
    if (!(await this.#drain(instanceId))) return;
    const message = "A newer server of this revision has taken over; the older one finishes its requests.";
    await this.#recordEvent(deployment.id, revisionId, { kind: "handed_over", message });
    this.#options.forgetRoute(deployment.id);
  }

  /** An event only: the revision itself still serves, and its status stays. */
  async #recordEvent(deploymentId: string, revisionId: string, event: { kind: string; message: string }) {
    await this.#fence.write(async (tx) => {
      await insertEvent(tx, revisionId, { ...event, status: null }, this.#clock.now());
      await announceDeployment(tx, deploymentId);
    });
  }

  async #fail({
    revisionId,
    instanceId,
    reason,
    broken,
  }: Extract<Operation, { kind: "fail" }>): Promise<void> {
    const probe = instanceId ? this.#supervisor.lastProbe(instanceId) : "";
    const lines = await this.#projectLines(revisionId);
    const log =
      lines.length > 0 ? `\nIts last lines:\n${lines.join("\n")}` : "\nIt wrote nothing to its log.";
    // Why a graph cannot be loaded is all there is to know; the log repeats it.
    const message = broken ? reason : `${reason}${probe ? ` Last look: ${probe}.` : ""}${log}`;
    const failure = explainFailure(broken ?? lines, reason);
    await this.#fence.write((tx) =>
      moveRevision(tx, revisionId, { status: "DEPLOY_FAILED", message, failure }, this.#clock.now()),
    );
    if (instanceId) await this.#supervisor.stop(instanceId);
  }

  /** One transaction decides who serves; the gateway asks for nothing else. */
  async #takeOver(deployment: Deployment, revisionId: string, instanceId: string): Promise<void> {
    const now = this.#clock.now();
    await this.#fence.write(async (tx) => {
      const switched = await switchActive(tx, { deploymentId: deployment.id, revisionId, instanceId }, now);
      if (!switched) return;
      const message = `Serving at ${this.#options.urlOf(deployment)}`;
      await moveRevision(tx, revisionId, { status: "DEPLOYED", message }, now);
    });
    this.#options.forgetRoute(deployment.id);
  }

  async #rollBack(
    deployment: Deployment,
    { revisionId, toRevisionId, reason }: Extract<Operation, { kind: "roll_back" }>,
  ): Promise<void> {
    const now = this.#clock.now();
    const lines = await this.#projectLines(revisionId);
    await this.#fence.write(async (tx) => {
      const restored = await restorePrevious(
        tx,
        { deploymentId: deployment.id, fromRevisionId: revisionId, toRevisionId },
        now,
      );
      if (!restored) return;
      const message = `${reason} The previous revision serves again. Its last lines:\n${lines.join("\n")}`;
      const failure = explainFailure(lines, reason);
      await moveRevision(tx, revisionId, { status: "DEPLOY_FAILED", message, failure }, now);
      const event = {
        kind: "rollback",
        status: null,
        message: "Serves again, because the server of the next revision exited.",
      };
      await insertEvent(tx, toRevisionId, event, now);
    });
    this.#options.forgetRoute(deployment.id);
  }

  /** The last lines about the project itself: every start of a server has routine ones as well. */
  async #projectLines(revisionId: string): Promise<string[]> {
    const lines = await lastLines(this.#database.sql, revisionId, "deploy", shownLines + routineLines);
    return lines.filter((line) => !isRoutine(line)).slice(-shownLines);
  }

  async #note(revisionId: string, step: Parameters<typeof noteProgress>[2]): Promise<void> {
    await this.#fence.write((tx) => noteProgress(tx, revisionId, step, this.#clock.now()));
  }
}
