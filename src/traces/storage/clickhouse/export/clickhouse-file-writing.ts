import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import { accessDenied, clickHouseCode } from "../../../../platform/clickhouse/clickhouse-errors.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { AppError, errorMessage } from "../../../../platform/errors.ts";
import { isFeedbackField } from "../../exported-fields.ts";
import type { RunSelection } from "../../run-selection.ts";
import { Values } from "../filter/condition.ts";
import { exportConditions } from "./exported-runs.ts";
import { FeedbackOfRuns } from "./feedback-of-runs.ts";
import { type CountedWindow, fileWindows, type Second } from "./file-windows.ts";
import { inlineValues, literal } from "./inline-values.ts";
import { parquetColumns } from "./parquet-columns.ts";

export type WrittenFile = {
  name: string;
  selection: RunSelection;
  target: {
    url: string;
    credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string | undefined };
    metadata: Record<string, string>;
  };
  compression: string;
  groupBytes: number;
  groupRows: number;
};

const codecs: Record<string, string> = { zstandard: "zstd", snappy: "snappy", gzip: "gzip", none: "none" };
/** Of a row without its payloads. */
const narrowBytes = 400;
const longTexts = new Set(["inputs", "outputs", "extra", "events", "error"]);
/** Feedback is sent with the statement, so a file with any has fewer. */
const mostRuns = { plain: 1_000_000, withFeedback: 200_000 };
/** It is in memory several times while it is sent. */
const mostFeedbackBytes = 16 * 1024 ** 2;
const lookUpAtOnce = 1_000;
const endingMs = 10_000;
const lookAgainMs = 50;
const askEveryMs = 2_000;
const askLimitMs = 10_000;
/** A file is written in seconds; a strained server may take much longer. */
const requestTimeoutMs = 3_600_000;
const selecting = { max_execution_time: 0, max_query_size: 256 * 1024 ** 2, prefer_column_name_to_alias: 1 };
/**
 * Codes of what goes wrong between the server and a bucket: the storage refused, no answer, no network, no such name, a
 * URL it does not take, and a redirect.
 */
const storageCodes = new Set(["499", "209", "210", "198", "36", "483", "491", "1000"]);

/** Lets ClickHouse write the files of an export: their bytes never come here. */
export class ClickHouseFileWriting {
  readonly #url: string;
  readonly #database: Database;
  readonly #mostFeedbackBytes: number;
  readonly #askEveryMs: number;

  constructor(options: {
    url: string;
    database: Database;
    mostFeedbackBytes?: number;
    /** How long it waits before it asks, again, how many rows a file has. */
    askEveryMs?: number;
  }) {
    this.#askEveryMs = options.askEveryMs ?? askEveryMs;
    this.#url = options.url;
    this.#database = options.database;
    this.#mostFeedbackBytes = options.mostFeedbackBytes ?? mostFeedbackBytes;
  }

  cut(selection: RunSelection, fileBytes: number, signal: AbortSignal): Promise<CountedWindow[]> {
    return this.#connected(async (clickHouse) => {
      const { from, where } = sourceOf(selection);
      const texts = selection.fields.filter((name) => longTexts.has(name));
      const bytes = [String(narrowBytes), ...texts.map((name) => `ifNull(length(${name}), 0)`)].join(" + ");
      const seconds = await clickHouse.rows<Second>(
        `select intDiv(toUnixTimestamp64Micro(start_time), 1000000) as second, count() as runs, sum(${bytes}) as bytes
          from ${from} where ${where} group by second order by second`,
        { signal, settings: selecting },
      );
      const feedback = this.#feedbackOf(selection);
      const runs = (await feedback.hasAny()) ? await this.#mostRunsWith(feedback) : mostRuns.plain;
      return fileWindows(selection, seconds.map(numbers), { bytes: fileBytes, runs });
    });
  }

  /** So many that their feedback fits by half, if it is like most of the workspace's. */
  async #mostRunsWith(feedback: FeedbackOfRuns): Promise<number> {
    const fitting = Math.floor(this.#mostFeedbackBytes / 2 / (await feedback.bytesPerRun()));
    return Math.min(mostRuns.withFeedback, Math.max(1, fitting));
  }

  /** Undefined where more was said of its runs than goes with a statement. */
  async write(
    file: WrittenFile,
    signal: AbortSignal,
    onRows: (rows: number) => Promise<void>,
  ): Promise<number | undefined> {
    signal.throwIfAborted();
    const queryId = `${file.name}-${randomUUID()}`;
    const { credentials } = file.target;
    try {
      return await this.#connected(async (clickHouse) => {
        const statement = await this.#statementOf(clickHouse, file, signal);
        if (statement === undefined) return undefined;
        const ended = new AbortController();
        const asking = this.#askForRows(clickHouse, queryId, onRows, ended.signal);
        try {
          return await clickHouse.runCounted(statement, { queryId, signal, settings: settingsOf(file) });
        } finally {
          ended.abort();
          await asking;
        }
      });
    } catch (error) {
      // Where it cannot be told it ends by itself, or the next attempt ends it.
      if (signal.aborted) await this.end(queryId).catch(() => {});
      signal.throwIfAborted();
      throw withoutSecrets(error, [credentials.secretAccessKey, credentials.sessionToken]);
    }
  }

  /** Nothing is left of a file that was not finished. One that waits for its storage ends when it hears of that. */
  async end(name: string): Promise<void> {
    const named = `startsWith(query_id, ${literal(name)})`;
    await this.#connected(async (clickHouse) => {
      await clickHouse.run(`kill query where ${named} async`);
      const until = performance.now() + endingMs;
      while (performance.now() < until) {
        const running = await clickHouse.rows(`select query_id from system.processes where ${named}`);
        if (running.length === 0) return;
        await delay(lookAgainMs);
      }
    });
  }

  /** Until it has ended, one question at a time. What cannot be told is not shown; the next file is asked about again. */
  async #askForRows(
    clickHouse: ClickHouse,
    queryId: string,
    onRows: (rows: number) => Promise<void>,
    ended: AbortSignal,
  ): Promise<void> {
    const question = `select written_rows as rows from system.processes where query_id = ${literal(queryId)}`;
    let told = 0;
    try {
      for (;;) {
        await delay(this.#askEveryMs, undefined, { signal: ended });
        const [found] = await clickHouse.rows<{ rows: number }>(question, {
          signal: ended,
          limitMs: askLimitMs,
        });
        const rows = Number(found?.rows ?? 0);
        if (rows <= told || ended.aborted) continue;
        told = rows;
        await onRows(rows);
      }
    } catch {
      // Its end, or nobody may ask: the file is written all the same.
    }
  }

  async #statementOf(
    clickHouse: ClickHouse,
    file: WrittenFile,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { selection } = file;
    const { from, where } = sourceOf(selection);
    const lines = await this.#feedbackLines(clickHouse, selection, signal);
    if (lines === undefined) return undefined;
    const said = lines
      ? ` left any join (select * from format(JSONEachRow, 'run_id UUID, said_stats Nullable(String), said_entries Nullable(String)',
          ${literal(lines)})) as said on said.run_id = trace_runs.id`
      : "";
    return `insert into function ${objectOf(file)} select ${parquetColumns(selection.fields, lines !== "")}
      from ${from}${said} where ${where} order by start_time, id`;
  }

  /** A line of JSON for each run about which something was said; undefined where that is too much. */
  async #feedbackLines(
    clickHouse: ClickHouse,
    selection: RunSelection,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const feedback = this.#feedbackOf(selection);
    if (!(await feedback.hasAny())) return "";
    const { from, where } = sourceOf(selection);
    const found = await clickHouse.rows<{ run: string }>(
      `select toString(id) as run from ${from} where ${where}`,
      {
        signal,
        settings: selecting,
      },
    );
    const lines: string[] = [];
    let bytes = 0;
    for (let at = 0; at < found.length; at += lookUpAtOnce) {
      signal.throwIfAborted();
      const said = await feedback.find(found.slice(at, at + lookUpAtOnce).map(({ run }) => run));
      for (const [run_id, [said_stats, said_entries]] of said) {
        const line = JSON.stringify({ run_id, said_stats, said_entries });
        bytes += Buffer.byteLength(line) + 1;
        if (bytes > this.#mostFeedbackBytes) return undefined;
        lines.push(line);
      }
    }
    return lines.join("\n");
  }

  #feedbackOf({ workspaceId, fields }: RunSelection): FeedbackOfRuns {
    const asked = fields.some(isFeedbackField) ? (["feedback_stats", "feedbacks"] as const) : [];
    return new FeedbackOfRuns(this.#database, workspaceId, asked);
  }

  /** A connection of its own, because it waits for longer than others. */
  async #connected<T>(work: (clickHouse: ClickHouse) => Promise<T>): Promise<T> {
    const clickHouse = await ClickHouse.open({ url: this.#url, requestTimeoutMs });
    try {
      return await work(clickHouse);
    } finally {
      await clickHouse.close();
    }
  }
}

const numbers = ({ second, runs, bytes }: Second): Second => ({
  second: Number(second),
  runs: Number(runs),
  bytes: Number(bytes),
});

function sourceOf(selection: RunSelection): { from: string; where: string } {
  const values = new Values();
  const where = exportConditions({ ...selection, projectIds: [selection.projectId] }, values);
  return { from: "trace_runs final", where: inlineValues(where, values) };
}

function objectOf({ target }: WrittenFile): string {
  const { accessKeyId, secretAccessKey, sessionToken } = target.credentials;
  const keys = [accessKeyId, secretAccessKey, ...(sessionToken ? [sessionToken] : [])];
  const headers = Object.entries(target.metadata).map(
    ([name, value]) => `${literal(`x-amz-meta-${name}`)} = ${literal(value)}`,
  );
  return `s3(${[target.url, ...keys, "Parquet"].map(literal).join(", ")}, headers(${headers.join(", ")}))`;
}

function settingsOf(file: WrittenFile): Record<string, string | number> {
  return {
    ...selecting,
    log_comment: file.name,
    // A file of an earlier attempt is replaced.
    s3_truncate_on_insert: 1,
    // To where the storage says it may be anywhere.
    s3_max_redirects: 0,
    s3_retry_attempts: 3,
    output_format_parquet_compression_method: codecs[file.compression] ?? file.compression,
    output_format_parquet_row_group_size: file.groupRows,
    output_format_parquet_row_group_size_bytes: file.groupBytes,
    // Encodings that every reader knows.
    output_format_parquet_version: "1.0",
  };
}

/** A server may repeat what it was sent. What goes wrong between it and the bucket is told apart from its own failures. */
function withoutSecrets(error: unknown, secrets: readonly (string | undefined)[]): unknown {
  let message = errorMessage(error);
  for (const secret of secrets) if (secret) message = message.replaceAll(secret, "[hidden]");
  if (clickHouseCode(error) === accessDenied) {
    return new AppError({
      code: "traces.export_refused",
      kind: "forbidden",
      message: `${message} Or set TREADLE_TRACES_EXPORT=treadle so that Treadle writes the files.`,
    });
  }
  if (storageCodes.has(clickHouseCode(error) ?? "")) {
    return new AppError({
      code: "traces.export_storage",
      kind: "bad_gateway",
      retryable: true,
      message: `ClickHouse could not write to the storage, which Treadle itself can write to (${message.replace(/\.?\s*$/, "")}). Let the ClickHouse server reach it, or set TREADLE_TRACES_EXPORT=treadle so that Treadle writes the files.`,
    });
  }
  if (message === errorMessage(error)) return error;
  return new AppError({ code: "traces.export_failed", kind: "internal", retryable: true, message });
}
