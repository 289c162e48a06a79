import { operatorWords } from "../../platform/blob/platform-failure.ts";
import { isBlobFailure } from "../../platform/blob/s3-failure.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { BuildRequest, BuildSource, Built, RevisionBuilder } from "../builds/build-request.ts";
import { BuildFailed } from "../builds/project-files.ts";
import { explainFailure, type Failure } from "../desired-state/failure.ts";
import { type Revision, statusesBefore } from "../desired-state/revision.ts";
import { moveRevision, noteProgress, saveBuilt, saveCommit } from "../desired-state/revision-store.ts";
import { type LogOrigin, plainLine, redact } from "../logs/log.ts";
import { LogWriter } from "../logs/log-writer.ts";

/** Lets the process write about a build that has it, and no other. */
export type BuildFence = {
  write<T>(work: (tx: Sql) => Promise<T>): Promise<T>;
  /** With what is written the build is over. */
  finish(work: (tx: Sql) => Promise<unknown>): Promise<void>;
};

export type BuildTaskOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  builder: RevisionBuilder;
  fence: BuildFence;
  sourceOf(revision: Revision, signal: AbortSignal): Promise<BuildSource>;
};

/** One build of a revision: what it prints, how far it is and how it ends is recorded. For one use. */
export class BuildTask {
  readonly #options: BuildTaskOptions;
  readonly #revision: Revision;
  readonly #signal: AbortSignal;
  readonly #log: LogWriter;
  /** Credentials, cut out of everything that is recorded. */
  #hidden: string[] = [];
  #commitSha = "";

  constructor(options: BuildTaskOptions, revision: Revision, signal: AbortSignal) {
    const { database, logger } = options;
    const place = { deploymentId: revision.deployment_id, revisionId: revision.id, kind: "build" as const };
    this.#options = options;
    this.#revision = revision;
    this.#signal = signal;
    this.#log = new LogWriter({ database, logger, place });
  }

  async run(): Promise<void> {
    try {
      const built = await this.#options.builder.build(this.#request());
      await this.#log.flush();
      await this.#recordBuilt(built);
    } catch (error) {
      // Cancelled, taken by another process, or given back: that was recorded there, or the build runs again.
      if (!this.#signal.aborted && !isOurs(error)) return this.#fail(error);
      await this.#log.flush();
      throw error;
    }
  }

  #request(): BuildRequest {
    const { fence, clock, sourceOf } = this.#options;
    const revision = this.#revision;
    return {
      revisionId: revision.id,
      workspaceId: revision.workspace_id,
      source: async (reading) => {
        const source = await sourceOf(revision, reading);
        this.#hidden = credentialTexts(source);
        return source;
      },
      revisionConfig: revision.source_revision_config,
      buildConfig: revision.build_config,
      signal: this.#signal,
      onLine: (text, origin = "platform") => this.#write(text, "INFO", origin),
      onCommit: async (sha) => {
        this.#commitSha = sha;
        await fence.write((tx) => saveCommit(tx, revision.id, sha));
      },
      note: async (message, progress) => {
        this.#write(message, "INFO");
        const note = { kind: "build", message: redact(message, this.#hidden), progress };
        await fence.write((tx) => noteProgress(tx, revision.id, note, clock.now()));
      },
    };
  }

  #write(text: string, level: "INFO" | "ERROR", origin: LogOrigin = "platform"): void {
    const at = this.#options.clock.now();
    for (const line of text.split("\n")) {
      this.#log.write({ at, level, origin, message: plainLine(redact(line, this.#hidden)) });
    }
  }

  async #recordBuilt(built: Built): Promise<void> {
    const { fence, clock } = this.#options;
    const { id } = this.#revision;
    await fence.finish(async (tx) => {
      await saveBuilt(tx, id, built);
      const message = built.cached ? "Already built; nothing to do." : "Built.";
      await moveRevision(tx, id, { status: "AWAITING_DEPLOY", message }, clock.now());
    });
  }

  async #fail(error: unknown): Promise<void> {
    const { fence, clock, logger } = this.#options;
    const { id } = this.#revision;
    if (!(error instanceof AppError))
      logger.error({ err: error, revision: id }, "a build failed unexpectedly");
    else if (isBlobFailure(error))
      logger.warn(
        { reason: operatorWords(error), revision: id },
        "a build failed because the storage could not be used",
      );
    const reason = redact(errorMessage(error), this.#hidden);
    const message = this.#commitSha === "" ? reason : `Commit ${this.#commitSha.slice(0, 12)}: ${reason}`;
    // Only the sentence about it: the lines of the project's own tool are there.
    const isLogged = error instanceof BuildFailed && error.tool?.isLogged === true;
    this.#write(isLogged ? message.split("\n", 1)[0]! : message, "ERROR");
    await this.#log.flush();
    const move = {
      ...{ status: "BUILD_FAILED" as const, message, from: statusesBefore("BUILD_FAILED") },
      failure: this.#explain(error, reason),
    };
    await fence.finish((tx) => moveRevision(tx, id, move, clock.now()));
  }

  /** Ours are not the project's: they have no place in it. */
  #explain(error: unknown, told: string): Failure | null {
    if (!(error instanceof AppError)) return null;
    const tool = error instanceof BuildFailed ? error.tool : null;
    const output = (tool?.output ?? [told]).map((line) => plainLine(redact(line, this.#hidden)));
    const failure = explainFailure(output, told);
    return tool?.reason ? { ...failure, reason: redact(tool.reason, this.#hidden) } : failure;
  }
}

const ours = ["database.", "blob.", "runtime.kubernetes_", "listener."];

/** The database, the storage, the cluster or a listener's platform is away: the build is tried again, and the project is not to blame. */
function isOurs(error: unknown): boolean {
  if (!(error instanceof AppError) || !error.retryable) return false;
  return ours.some((begin) => error.code.startsWith(begin));
}

function credentialTexts(source: BuildSource): string[] {
  if (source.kind !== "git" || source.credentials === null) return [];
  const { credentials } = source;
  if ("privateKey" in credentials) return [credentials.privateKey];
  return [credentials.token, Buffer.from(`x-access-token:${credentials.token}`).toString("base64")];
}
