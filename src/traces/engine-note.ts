import { createHash } from "node:crypto";
import type { Database } from "../platform/db/database.ts";
import { AppError } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import { type Engine, findEngine, noteEngine, replaceEngine } from "./storage/engine-note-store.ts";

/**
 * Where runs are kept is a setting of each process, and must be the same for all: what one of them writes elsewhere, the others do not
 * see, and do not remove. So it is noted in the database.
 */
export class EngineNote {
  readonly #database: Database;
  readonly #own: Engine;
  readonly #where: string;

  /** `where` is the ClickHouse of the settings, as messages name it. */
  constructor(database: Database, where: string | undefined) {
    this.#database = database;
    this.#where = where === undefined ? "PostgreSQL" : `the ClickHouse at ${where}`;
    this.#own =
      where === undefined
        ? { engine: "postgres", place: null }
        : { engine: "clickhouse", place: placeOf(where) };
  }

  /** Throws when runs are kept elsewhere. From PostgreSQL to ClickHouse is the way they may go. */
  async claim(logger: Logger): Promise<void> {
    const before = await noteEngine(this.#database.sql, this.#own);
    await this.check();
    if (before?.engine === "postgres" && this.#own.engine === "clickhouse")
      logger.warn(
        `runs of traces are kept in ${this.#where} from now on: start all other servers with the same TREADLE_TRACES_URL`,
      );
  }

  /** For a process that is running: it cannot know what was changed since it began. */
  async warn(logger: Logger): Promise<void> {
    await this.check().catch((error: unknown) => {
      if (!(error instanceof AppError) || error.code !== "traces.other_engine") throw error;
      logger.error({ code: error.code }, error.message);
    });
  }

  /** Throws when runs are kept in a ClickHouse that is not the one of the settings. */
  async check(): Promise<void> {
    const noted = await findEngine(this.#database.sql);
    if (!noted || noted.engine === "postgres" || noted.place === this.#own.place) return;
    const since = `${noted.noted_at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
    const elsewhere = this.#own.engine === "postgres" ? "ClickHouse" : "another ClickHouse database";
    const what =
      this.#own.engine === "postgres"
        ? "but TREADLE_TRACES_URL is not set here. Set it as it is for the other servers"
        : `but TREADLE_TRACES_URL names ${this.#where} here. Set it as it is for the other servers`;
    throw new AppError({
      code: "traces.other_engine",
      kind: "conflict",
      message: `The servers of this database keep runs of traces in ${elsewhere}, since ${since}, ${what}. If runs are to be kept in ${this.#where} instead, or it is the same database at another address, stop all servers and run \`treadle traces use\` with the settings of this one; runs that are elsewhere are then not shown.`,
    });
  }

  /** Runs are kept here from now on. Returns where that is. */
  async use(): Promise<string> {
    await replaceEngine(this.#database.sql, this.#own);
    return this.#where;
  }
}

/** Tells two databases apart without saying where they are. */
function placeOf(where: string): string {
  return createHash("sha256").update(where.toLowerCase()).digest("hex").slice(0, 16);
}
