import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { BuildSource } from "../builds/build-request.ts";
import type { Builder } from "../builds/builder.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import type { Revision } from "../desired-state/revision.ts";
import { statusesBefore } from "../desired-state/revision.ts";
import {
  insertEvent,
  moveRevision,
  noteProgress,
  readRevision,
  saveBuilt,
  saveCommit,
} from "../desired-state/revision-store.ts";
import { plainLine, redact } from "../logs/log.ts";
import { LogWriter } from "../logs/log-writer.ts";

export type BuildTasksOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  builder: Builder;
  sourceOf(revision: Revision, signal: AbortSignal): Promise<BuildSource>;
  onChange(deploymentId: string): void;
};

/** Begun builds, most of which wait: for their host, which must not hold up others, or for a free builder. */
const maxTasks = 1_000;

type Task = { deploymentId: string; stop: AbortController; done: Promise<void> };

/** The builds that go on in this process. What they decide is written to the database. */
export function createBuildTasks(options: BuildTasksOptions) {
  const { database, clock, logger } = options;
  const tasks = new Map<string, Task>();

  async function begin(deployment: Deployment, revisionId: string, resumed: boolean): Promise<void> {
    const revision = await readRevision(database.sql, revisionId);
    if (!revision || tasks.has(revisionId)) return;
    if (resumed && revision.status !== "BUILDING") return;
    const message = resumed ? "Building again after an interruption." : "Building.";
    const moved = await database.transaction(async (tx) => {
      if (!resumed) return moveRevision(tx, revisionId, { status: "BUILDING", message }, clock.now());
      await insertEvent(tx, revisionId, { kind: "resumed", status: null, message }, clock.now());
      return true;
    });
    if (!moved) return;
    const stop = new AbortController();
    const done = run(deployment, revision, stop.signal).finally(() => {
      tasks.delete(revisionId);
      options.onChange(deployment.id);
    });
    tasks.set(revisionId, { deploymentId: deployment.id, stop, done });
  }

  async function run(deployment: Deployment, revision: Revision, signal: AbortSignal): Promise<void> {
    const place = { deploymentId: deployment.id, revisionId: revision.id, kind: "build" as const };
    const log = new LogWriter({ database, logger, place });
    const writeLines = (text: string, level: "INFO" | "ERROR" = "INFO") => {
      for (const line of text.split("\n")) {
        log.write({ at: clock.now(), level, message: plainLine(redact(line, hidden)) });
      }
    };
    let hidden: string[] = [];
    let commitSha = "";
    try {
      const built = await options.builder.build({
        revisionId: revision.id,
        workspaceId: revision.workspace_id,
        async source(reading) {
          const source = await options.sourceOf(revision, reading);
          hidden = credentialTexts(source);
          return source;
        },
        revisionConfig: revision.source_revision_config,
        buildConfig: revision.build_config,
        signal,
        onLine: writeLines,
        async onCommit(sha) {
          commitSha = sha;
          await saveCommit(database.sql, revision.id, sha);
        },
        note: async (message, progress) => {
          writeLines(message);
          const note = { kind: "build", message: redact(message, hidden), progress };
          await database.transaction((tx) => noteProgress(tx, revision.id, note, clock.now()));
        },
      });
      await log.flush();
      await database.transaction(async (tx) => {
        await saveBuilt(tx, revision.id, built);
        const message = built.cached ? "Built before; nothing to build." : "Built.";
        await moveRevision(tx, revision.id, { status: "AWAITING_DEPLOY", message }, clock.now());
      });
    } catch (error) {
      // Cancelled, or the platform stops: whoever did that has recorded the revision's status.
      if (signal.aborted) {
        await log.flush();
        return;
      }
      if (!(error instanceof AppError))
        logger.error({ err: error, revision: revision.id }, "a build failed unexpectedly");
      const reason = redact(errorMessage(error), hidden);
      const message = commitSha === "" ? reason : `Commit ${commitSha.slice(0, 12)}: ${reason}`;
      writeLines(message, "ERROR");
      await log.flush();
      await recordFailure(revision.id, message);
    }
  }

  async function recordFailure(revisionId: string, message: string): Promise<void> {
    const from = statusesBefore("BUILD_FAILED");
    await database
      .transaction((tx) =>
        moveRevision(tx, revisionId, { status: "BUILD_FAILED", message, from }, clock.now()),
      )
      .catch((error: unknown) => {
        logger.error(
          { err: error, revision: revisionId },
          "the failure of a build could not be stored; it will be built again",
        );
      });
  }

  return {
    begin,
    async cancel(revisionId: string): Promise<void> {
      const task = tasks.get(revisionId);
      task?.stop.abort(new Error("The build was cancelled."));
      await task?.done;
    },
    runningFor: (deploymentId: string): ReadonlySet<string> =>
      new Set([...tasks].filter(([, task]) => task.deploymentId === deploymentId).map(([id]) => id)),
    freeSlots: () => Math.max(0, maxTasks - tasks.size),
    /** Their revisions stay as they are and are built again at the next start. */
    async stopAll(): Promise<void> {
      const all = [...tasks.values()];
      for (const task of all) task.stop.abort(new Error("The platform is stopping."));
      await Promise.all(all.map((task) => task.done));
    },
  };
}

export type BuildTasks = ReturnType<typeof createBuildTasks>;

function credentialTexts(source: BuildSource): string[] {
  if (source.kind !== "git" || source.credentials === null) return [];
  const { credentials } = source;
  if ("privateKey" in credentials) return [credentials.privateKey];
  return [credentials.token, Buffer.from(`x-access-token:${credentials.token}`).toString("base64")];
}
