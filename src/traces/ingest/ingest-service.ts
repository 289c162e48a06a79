import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { sqlState } from "../../platform/db/database-errors.ts";
import { AppError, type ErrorKind } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { saveAttachment } from "../attachments/attachment-store.ts";
import type { FeedbackService } from "../feedback/feedback-service.ts";
import type { OneProject, OneProjectRules } from "../projects/one-project.ts";
import { maxProjectNameChars } from "../projects/project.ts";
import type { ProjectService } from "../projects/project-service.ts";
import type { Feedback } from "../runs/feedback.ts";
import { startOf } from "../runs/merge-run.ts";
import type { RunChange } from "../runs/run-change.ts";
import { ForbiddenPart, RefusedPart } from "../wire/refused-part.ts";
import { storable } from "../wire/storable-text.ts";
import { normalizeUuid } from "../wire/wire-id.ts";
import { readRun } from "./read-run.ts";
import type { RunWriter } from "./run-writer.ts";
import type { PartError, SentAttachment, SentFeedback, SentParts } from "./sent-parts.ts";

export type Ingested = { kept: number; errors: PartError[] };

type RunContext = { workspaceId: string; receivedAt: string; project: string | undefined };
/** As the client named its project, unchecked. */
type Session = { id: unknown; name: unknown };
/** Who sends: limited to one project or not, and the runs this request has written. */
type Sender = { only: OneProject | undefined; written: Set<string> };
type ReadRun = { part: string; change: RunChange; session: Session };

export type IngestOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  projects: ProjectService;
  feedback: FeedbackService;
  writer: RunWriter;
  oneProject: OneProjectRules;
  /** Bytes of accepted runs that may wait for the database; beyond that, clients are asked to retry. */
  maxWaitingBytes?: number;
};

const maxAttachmentBytes = 20 * 1024 * 1024;

/** Takes what clients send: runs, attachments and feedback, each part kept or refused for itself. */
export class IngestService {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #projects: ProjectService;
  readonly #feedback: FeedbackService;
  readonly #writer: RunWriter;
  readonly #oneProject: OneProjectRules;
  readonly #maxWaitingBytes: number;
  #waitingBytes = 0;

  constructor(options: IngestOptions) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#projects = options.projects;
    this.#feedback = options.feedback;
    this.#writer = options.writer;
    this.#oneProject = options.oneProject;
    this.#maxWaitingBytes = options.maxWaitingBytes ?? 256_000_000;
  }

  /**
   * Resolves when everything that is kept is committed. Takes the runs out of `sent`. `project` is where runs go that
   * name none; `onlyProject` is the one its sender may write to.
   */
  async ingest(
    workspaceId: string,
    sent: SentParts,
    project?: string,
    onlyProject?: string,
  ): Promise<Ingested> {
    if (this.#waitingBytes > this.#maxWaitingBytes) throw tooBusy();
    const only = await this.#oneProject.find(workspaceId, onlyProject);
    const sender: Sender = { only, written: new Set() };
    const result: Ingested = { kept: 0, errors: [...sent.errors] };
    const context = { workspaceId, receivedAt: microTime(this.#clock.now()), project };
    const runs = this.#readRuns(sent.runs, context, result.errors);
    await this.#keepAll(
      runs,
      (run) => run.part,
      async (run) => {
        await this.#keepRun(run, only);
        if (only) sender.written.add(run.change.id);
      },
      result,
    );
    await this.#keepAll(
      sent.attachments,
      (each) => each.part,
      (each) => this.#keepAttachment(workspaceId, each, sender),
      result,
    );
    if (sent.feedback.length > 0) await this.#keepFeedback(workspaceId, sent.feedback, sender, result);
    return result;
  }

  /** Undefined for a patch that names no project and cannot make a run: the run's own project stands. */
  async #projectOf(
    change: RunChange,
    session: Session,
    only: OneProject | undefined,
  ): Promise<string | undefined> {
    const { workspaceId } = change;
    if (session.id !== undefined && session.id !== null) {
      const id = normalizeUuid(session.id);
      if (id === null) throw new RefusedPart("session_id must be a UUID.");
      const known = await this.#projects.existingProjectId(workspaceId, id);
      if (known === undefined)
        throw new RefusedPart(`session_id: there is no project ${id} in this workspace.`);
      this.#oneProject.checkProject(only, known);
      return known;
    }
    const { name } = session;
    if (name === undefined || name === null || name === "") {
      return change.kind === "patch" && startOf([change]) === undefined
        ? undefined
        : (only?.id ?? this.#projects.projectIdOf(workspaceId));
    }
    if (typeof name !== "string" || name.length > maxProjectNameChars) {
      throw new RefusedPart(`session_name must be text of at most ${maxProjectNameChars} characters.`);
    }
    this.#oneProject.checkName(only, storable(name));
    return this.#projects.projectIdOf(workspaceId, storable(name));
  }

  /**
   * Empties `sent`: what was parsed is many times the size of what is written, and must not live as long as
   * the write takes.
   */
  #readRuns(sent: SentParts["runs"], context: RunContext, errors: PartError[]): ReadRun[] {
    return sent.splice(0).flatMap(({ part, sent: { record, ...rest } }) => {
      try {
        const session = { id: record.session_id, name: record.session_name ?? context.project };
        return [{ part, change: readRun({ record, ...rest }, context), session }];
      } catch (error) {
        errors.push(this.#refusal(part, error));
        return [];
      }
    });
  }

  async #keepRun({ change, session }: ReadRun, only: OneProject | undefined): Promise<void> {
    change.projectId = await this.#projectOf(change, session, only);
    if (only) change.onlyProjectId = only.id;
    this.#waitingBytes += change.bytes;
    try {
      const kept = await this.#writer.add(change);
      if (!kept && only) this.#oneProject.otherRun(only, change.id);
    } finally {
      this.#waitingBytes -= change.bytes;
    }
  }

  async #keepAttachment(workspaceId: string, sent: SentAttachment, sender: Sender): Promise<void> {
    const runId = normalizeUuid(sent.runId);
    if (runId === null)
      throw new RefusedPart("The part's name must hold a run id: attachment.<run id>.<name>.");
    if (sent.content.byteLength > maxAttachmentBytes) {
      throw new RefusedPart(`An attachment may have at most ${maxAttachmentBytes} bytes.`);
    }
    await this.#oneProject.checkRun(workspaceId, sender.only, runId, sender.written);
    const { name, mimeType, content } = sent;
    await saveAttachment(this.#database.sql, {
      workspaceId,
      runId,
      name: storable(name),
      mimeType: storable(mimeType),
      content,
    });
  }

  async #keepFeedback(
    workspaceId: string,
    sent: readonly SentFeedback[],
    sender: Sender,
    result: Ingested,
  ): Promise<void> {
    const read: { part: string; feedback: Feedback }[] = [];
    for (const { part, id, record } of sent) {
      try {
        const named = normalizeUuid(id);
        if (named === null)
          throw new RefusedPart("The part's name must hold the feedback's id: feedback.<id>.");
        const one = this.#feedback.read(workspaceId, record, named);
        await this.#feedback.checkSender(one, sender.only, sender.written);
        read.push({ part, feedback: one });
      } catch (error) {
        result.errors.push(this.#refusal(part, error));
      }
    }
    const written = await this.#feedback.save(
      read.map((each) => each.feedback),
      sender.only,
    );
    const saved = new Set(written.map((each) => each.id));
    for (const { part, feedback: each } of read) {
      if (saved.has(each.id)) result.kept += 1;
      else result.errors.push({ part, error: "This feedback id is taken." });
    }
  }

  /**
   * A part that is wrong in itself is named. Anything else is trouble of ours and fails the request, so that it is
   * sent again: what is not stored is never acknowledged.
   */
  #refusal(part: string, error: unknown): PartError {
    if (error instanceof ForbiddenPart) return { part, error: error.message, forbidden: true };
    if (error instanceof RefusedPart) return { part, error: error.message };
    if (error instanceof AppError && partsOwn.has(error.kind)) return { part, error: error.message };
    if (error instanceof AppError) throw error;
    this.#logger.error({ err: error, part }, "a trace part could not be written");
    if (isOfItsContent(error)) return { part, error: "It could not be stored; see the server's log." };
    throw new AppError({
      code: "traces.not_stored",
      kind: "unavailable",
      message: "The traces could not be stored. Send them again, and see the server's log.",
      cause: error,
    });
  }

  async #keepAll<T>(
    items: readonly T[],
    partOf: (item: T) => string,
    keep: (item: T) => Promise<void>,
    result: Ingested,
  ) {
    const settled = await Promise.allSettled(items.map(keep));
    for (const [index, outcome] of settled.entries()) {
      if (outcome.status === "fulfilled") result.kept += 1;
      else result.errors.push(this.#refusal(partOf(items[index]!), outcome.reason));
    }
  }
}

/** Kinds of errors that sending the part again cannot mend. */
const partsOwn: ReadonlySet<ErrorKind> = new Set([
  "invalid",
  "unprocessable",
  "not_found",
  "conflict",
  "too_large",
]);

/** PostgreSQL refused the values: data exceptions, broken constraints, limits of a row. */
function isOfItsContent(error: unknown): boolean {
  return /^(22|23|54)/.test(sqlState(error) ?? "");
}

function microTime(date: Date): string {
  return `${date.toISOString().slice(0, -1)}000Z`;
}

function tooBusy(): AppError {
  return new AppError({
    code: "traces.busy",
    kind: "rate_limited",
    message: "More traces are waiting to be written than fit in memory. Send this batch again in a moment.",
    headers: { "retry-after": "1" },
  });
}
