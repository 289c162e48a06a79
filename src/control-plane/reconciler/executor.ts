import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { createOwnDatabase } from "../../platform/db/own-database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { explainFailure } from "../desired-state/failure.ts";
import type { ReconcileFence } from "../desired-state/reconcile-fence.ts";
import {
  announceDeployment,
  insertEvent,
  moveRevision,
  noteProgress,
  readRevision,
} from "../desired-state/revision-store.ts";
import { insertLogs, lastLines } from "../logs/log-store.ts";
import { crashLoopAttempts } from "../runtimes/instance.ts";
import { moveInstance } from "../runtimes/instance-store.ts";
import type { Supervisor } from "../runtimes/supervisor.ts";
import type { DeploymentTracing } from "../tracing/deployment-tracing.ts";
import type { BuildTasks } from "./build-tasks.ts";
import type { LaunchPlanner } from "./launch-planner.ts";
import {
  forgetTraces,
  isNameTaken,
  markDatabaseReady,
  restorePrevious,
  switchActive,
} from "./observation-store.ts";
import type { Operation, RenewalReason } from "./plan.ts";

export type ExecutorOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** Through which everything is written. */
  fence: Pick<ReconcileFence, "write">;
  supervisor: Supervisor;
  builds: BuildTasks;
  launches: LaunchPlanner;
  /** The gateway forgets where this deployment is served and looks again. */
  forgetRoute(deploymentId: string): void;
  urlOf(deployment: Deployment): string;
  tracing: Pick<DeploymentTracing, "removeProject">;
  /** Removes its database, its files and in the end its row. */
  purge(deployment: Deployment): Promise<void>;
};

const shownLines = 12;
/** More than one start writes of them. */
const routineLines = 200;
const isRoutine = (line: string) =>
  /\bmigrations? applied\b|^the database was brought up to date\b/.test(line);
const renewalText: Record<RenewalReason, string> = {
  restart_asked: "Restart requested. A new server is being started and takes over when it is ready.",
  tracing_key:
    "The key this server sends its traces with has been replaced: it was revoked, or it would soon expire. A server with a new key is being started and takes over when it is ready. Traces sent with a revoked key until then are lost.",
};

/** Performs what was planned. Each step checks in the database that it is still wanted. */
export class Executor {
  readonly #options: ExecutorOptions;
  readonly #database: Database;
  readonly #fence: Pick<ReconcileFence, "write">;
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
    const { builds, forgetRoute, urlOf, purge } = this.#options;
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
        return builds.begin(deployment, operation.revisionId, operation.resumed);
      case "cancel_build":
        return builds.cancel(operation.revisionId);
      case "interrupt":
        return this.#move(operation.revisionId, "INTERRUPTED", operation.message);
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
        await this.#moveInstance(operation.instanceId, { from: ["ready"], to: "draining" });
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

  async #move(revisionId: string, status: Parameters<typeof moveRevision>[2]["status"], message: string) {
    await this.#fence.write((tx) => moveRevision(tx, revisionId, { status, message }, this.#clock.now()));
  }

  async #provision(deployment: Deployment, revisionId: string): Promise<void> {
    await this.#note(revisionId, { kind: "database", message: "Creating the database.", progress: 66 });
    try {
      await createOwnDatabase(this.#database.sql, this.#options.launches.ownDatabase(deployment));
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
    if (isRestart && attempt > 1) {
      const looping = attempt >= crashLoopAttempts;
      const lines = await this.#projectLines(revisionId);
      const what = looping
        ? "Crash loop: the server keeps ending."
        : "The server ended and is being started again.";
      const message = `${what} Start number ${attempt}. Its last lines:\n${lines.join("\n")}`;
      const condition = looping ? "crash_loop" : "restarting";
      await this.#note(revisionId, { kind: looping ? "crash_loop" : "restart", message, condition });
    }
    try {
      await this.#supervisor.launch(await this.#options.launches.plan(deployment, revision, attempt));
    } catch (error) {
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
    await this.#supervisor.launch(await this.#options.launches.plan(deployment, revision, attempt));
  }

  /** The gateway takes the newest server that is ready; the older one answers what it has begun. */
  async #handOver(deployment: Deployment, revisionId: string, instanceId: string): Promise<void> {
    const move = { from: ["ready" as const], to: "draining" as const };
    if (!(await this.#moveInstance(instanceId, move))) return;
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
