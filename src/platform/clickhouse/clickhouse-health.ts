import { AppError } from "../errors.ts";
import { KnownProblem } from "../known-problem.ts";
import type { PreparedClickHouse } from "./prepared-clickhouse.ts";

const checkMs = 10_000;

/** Whether ClickHouse can be used. */
export class ClickHouseHealth {
  readonly #prepared: Pick<PreparedClickHouse, "check">;
  readonly #known: KnownProblem;

  constructor(prepared: Pick<PreparedClickHouse, "check">) {
    this.#prepared = prepared;
    this.#known = new KnownProblem({
      lookUp: (found) => this.#lookUp(found),
      untilKnown: "clickhouse.unavailable",
    });
  }

  /** The code of what is wrong, or null. Those of `database.…` are of PostgreSQL elsewhere, so these have another name. */
  problem(): Promise<string | null> {
    return this.#known.problem();
  }

  async #lookUp(found: (problem: string | null) => void): Promise<void> {
    await this.#prepared.check(AbortSignal.timeout(checkMs)).then(
      () => found(null),
      (error: unknown) => found(codeOf(error)),
    );
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof AppError)) return "clickhouse.unavailable";
  return error.code.replace(/^database\./, "clickhouse.");
}
