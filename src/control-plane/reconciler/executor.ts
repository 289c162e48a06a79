import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { createOwnDatabase } from "../../platform/db/own-database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Deployment } from "../desired-state/deployment.ts";
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
import type { Operation } from "./plan.ts";

export type ExecutorOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
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
const isRoutine = (line: string) => /\bmigrations? applied\b/.test(line);
const renewalText =
  "The key this server sends its traces with has been replaced: it was revoked, or it would soon expire. A server with a new key is being started and takes over when it is ready. Traces sent with a revoked key until then are lost.";

/** Performs what was planned. Each step checks in the database that it is still wanted. */
export function createExecutor(options: ExecutorOptions) {
  const { database, clock, supervisor, builds, launches } = options;

  async function execute(deployment: Deployment, operation: Operation): Promise<void> {
    const { sql } = database;
    switch (operation.kind) {
      case "skip":
        return move(operation.revisionId, "SKIPPED", `Skipped: revision ${operation.newerNumber} is newer.`);
      case "admit":
        return move(
          operation.revisionId,
          operation.status,
          operation.status === "AWAITING_BUILD" ? "Waiting for a free builder." : "Waiting to be deployed.",
        );
      case "build":
        return builds.begin(deployment, operation.revisionId, operation.resumed);
      case "cancel_build":
        return builds.cancel(operation.revisionId);
      case "interrupt":
        return move(operation.revisionId, "INTERRUPTED", operation.message);
      case "provision":
        return provision(deployment, operation.revisionId);
      case "begin_deploy":
        return move(operation.revisionId, "DEPLOYING", "Starting the server.");
      case "start":
        return start(deployment, operation.revisionId, operation.attempt);
      case "fail":
        return fail(operation.revisionId, operation.instanceId, operation.reason);
      case "switch":
        return takeOver(deployment, operation.revisionId, operation.instanceId);
      case "roll_back":
        return rollBack(deployment, operation);
      case "renew":
        return renew(deployment, operation.revisionId, operation.attempt);
      case "hand_over":
        return handOver(deployment, operation.revisionId, operation.instanceId);
      case "drain":
        await moveInstance(sql, operation.instanceId, { from: ["ready"], to: "draining" }, clock.now());
        return;
      case "undrain":
        await moveInstance(sql, operation.instanceId, { from: ["draining"], to: "ready" }, clock.now());
        return options.forgetRoute(deployment.id);
      case "stop":
        await supervisor.stop(operation.instanceId);
        return options.forgetRoute(deployment.id);
      case "kill":
        return supervisor.kill(operation.instanceId);
      case "recovered":
        return note(operation.revisionId, {
          kind: "recovered",
          message: `Serving at ${options.urlOf(deployment)}`,
        });
      case "remove_traces":
        return removeTraces(deployment);
      case "purge":
        return options.purge(deployment);
    }
  }

  /** A new deployment may have taken the name, and the project with it. */
  async function removeTraces({ id, workspace_id, name }: Deployment): Promise<void> {
    if (!(await isNameTaken(database.sql, workspace_id, name)))
      await options.tracing.removeProject(workspace_id, name);
    await forgetTraces(database.sql, id);
  }

  async function move(
    revisionId: string,
    status: Parameters<typeof moveRevision>[2]["status"],
    message: string,
  ) {
    await database.transaction((tx) => moveRevision(tx, revisionId, { status, message }, clock.now()));
  }

  async function provision(deployment: Deployment, revisionId: string): Promise<void> {
    await note(revisionId, { kind: "database", message: "Creating the database.", progress: 66 });
    try {
      await createOwnDatabase(database.sql, launches.ownDatabase(deployment));
    } catch (error) {
      if (error instanceof AppError && error.retryable) throw error;
      return move(revisionId, "CREATE_FAILED", `The database could not be created: ${errorMessage(error)}`);
    }
    await markDatabaseReady(database.sql, deployment.id);
    await announceDeployment(database.sql, deployment.id);
  }

  async function start(deployment: Deployment, revisionId: string, attempt: number): Promise<void> {
    const revision = await readRevision(database.sql, revisionId);
    if (!revision) return;
    const isRestart = deployment.active_revision_id === revisionId;
    if (isRestart && attempt > 1) {
      const looping = attempt >= crashLoopAttempts;
      const lines = await projectLines(revisionId);
      const what = looping
        ? "Crash loop: the server keeps ending."
        : "The server ended and is being started again.";
      const message = `${what} Start number ${attempt}. Its last lines:\n${lines.join("\n")}`;
      const condition = looping ? "crash_loop" : "restarting";
      await note(revisionId, { kind: looping ? "crash_loop" : "restart", message, condition });
    }
    try {
      await supervisor.launch(await launches.plan(deployment, revision, attempt));
    } catch (error) {
      // What serves is tried again and again; what was to be deployed has failed.
      if (isRestart || (error instanceof AppError && error.retryable)) throw error;
      await move(revisionId, "DEPLOY_FAILED", errorMessage(error));
    }
  }

  async function renew(deployment: Deployment, revisionId: string, attempt: number): Promise<void> {
    const revision = await readRevision(database.sql, revisionId);
    if (!revision) return;
    const again = attempt > 1 ? ` Start number ${attempt}: the one before did not become ready.` : "";
    const message = `${renewalText}${again}`;
    await recordEvent(deployment.id, revisionId, { kind: "tracing_key", message });
    const place = { deploymentId: deployment.id, revisionId, kind: "deploy" } as const;
    await insertLogs(database.sql, place, [{ at: clock.now(), level: "WARNING", message }]);
    options.logger.warn({ deployment: deployment.id, attempt }, "a deployment's tracing key was replaced");
    await supervisor.launch(await launches.plan(deployment, revision, attempt));
  }

  /** The gateway takes the newest server that is ready; the older one answers what it has begun. */
  async function handOver(deployment: Deployment, revisionId: string, instanceId: string): Promise<void> {
    const move = { from: ["ready" as const], to: "draining" as const };
    if (!(await moveInstance(database.sql, instanceId, move, clock.now()))) return;
    const message =
      "A newer server of this revision has taken over; the older one answers what it has begun.";
    await recordEvent(deployment.id, revisionId, { kind: "handed_over", message });
    options.forgetRoute(deployment.id);
  }

  /** An event only: the revision itself still serves, and its status stays. */
  async function recordEvent(
    deploymentId: string,
    revisionId: string,
    event: { kind: string; message: string },
  ) {
    await database.transaction(async (tx) => {
      await insertEvent(tx, revisionId, { ...event, status: null }, clock.now());
      await announceDeployment(tx, deploymentId);
    });
  }

  async function fail(revisionId: string, instanceId: string | null, reason: string): Promise<void> {
    const probe = instanceId ? supervisor.lastProbe(instanceId) : "";
    const lines = await projectLines(revisionId);
    const log =
      lines.length > 0 ? `\nIts last lines:\n${lines.join("\n")}` : "\nIt wrote nothing to its log.";
    await move(revisionId, "DEPLOY_FAILED", `${reason}${probe ? ` Last look: ${probe}.` : ""}${log}`);
    if (instanceId) await supervisor.stop(instanceId);
  }

  /** One transaction decides who serves; the gateway asks for nothing else. */
  async function takeOver(deployment: Deployment, revisionId: string, instanceId: string): Promise<void> {
    const now = clock.now();
    await database.transaction(async (tx) => {
      const switched = await switchActive(tx, { deploymentId: deployment.id, revisionId, instanceId }, now);
      if (!switched) return;
      const message = `Serving at ${options.urlOf(deployment)}`;
      await moveRevision(tx, revisionId, { status: "DEPLOYED", message }, now);
    });
    options.forgetRoute(deployment.id);
  }

  async function rollBack(
    deployment: Deployment,
    { revisionId, toRevisionId, reason }: Extract<Operation, { kind: "roll_back" }>,
  ): Promise<void> {
    const now = clock.now();
    const lines = await projectLines(revisionId);
    await database.transaction(async (tx) => {
      const restored = await restorePrevious(
        tx,
        { deploymentId: deployment.id, fromRevisionId: revisionId, toRevisionId },
        now,
      );
      if (!restored) return;
      const message = `${reason} The revision before it serves again. Its last lines:\n${lines.join("\n")}`;
      await moveRevision(tx, revisionId, { status: "DEPLOY_FAILED", message }, now);
      const event = { kind: "rollback", status: null, message: "Serves again: the revision after it died." };
      await insertEvent(tx, toRevisionId, event, now);
    });
    options.forgetRoute(deployment.id);
  }

  /** The last lines about the project itself: every start of a server has routine ones as well. */
  async function projectLines(revisionId: string): Promise<string[]> {
    const lines = await lastLines(database.sql, revisionId, "deploy", shownLines + routineLines);
    return lines.filter((line) => !isRoutine(line)).slice(-shownLines);
  }

  async function note(revisionId: string, step: Parameters<typeof noteProgress>[2]): Promise<void> {
    await database.transaction((tx) => noteProgress(tx, revisionId, step, clock.now()));
  }

  return { execute };
}

export type Executor = ReturnType<typeof createExecutor>;
