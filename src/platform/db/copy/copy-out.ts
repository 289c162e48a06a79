import { Socket } from "node:net";
import pg from "pg";
import { describeDatabase, mapDatabaseError } from "../database-errors.ts";
import { copySocket } from "./copy-socket.ts";

/** One row as the database sends it in binary COPY format; the bytes are valid during the call only. */
export type CopyRow = (source: Buffer, start: number, end: number) => void;

export type CopyOut = {
  /** Rows already on their way still come. */
  pause(): void;
  resume(): void;
};

export type CopyOutOptions = {
  url: string;
  /** A select without parameters: COPY takes none. */
  select: string;
  onRow: CopyRow;
  onStart?(control: CopyOut): void;
  signal: AbortSignal;
};

/** The signature, the flags and the length of an empty header extension. */
const headerBytes = 19;
const trailer = -1;

/** What the driver calls on every object that runs as a query; its own types do not name all of it. */
type Submittable = {
  submit(connection: { query(text: string): void }): void;
  handleCopyData(message: { chunk: Buffer }, connection: unknown): void;
  handleCommandComplete(message: { text: string }, connection: unknown): void;
  handleReadyForQuery(connection: unknown): void;
  handleError(error: Error, connection: unknown): void;
};

/**
 * Streams the rows of a select on a connection of its own, as bytes: no value becomes a JavaScript object.
 * Answers the number of rows. An abort ends the connection at once.
 */
export async function copyOut(options: CopyOutOptions): Promise<number> {
  const { signal } = options;
  const where = describeDatabase(options.url);
  signal.throwIfAborted();
  let take: CopyRow = () => {};
  const client = new pg.Client({
    connectionString: options.url,
    application_name: "treadle export",
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    // Its type names no argument, which is the connection's configuration.
    stream: ((config?: { ssl?: unknown }) =>
      config?.ssl ? new Socket() : copySocket((...data) => take(...data))) as () => Socket,
    options: "-c timezone=UTC -c jit=off -c statement_timeout=0 -c idle_in_transaction_session_timeout=0",
  });
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  const stop = () => {
    failed.reject(signal.reason);
    streamOf(client).destroy();
  };
  client.on("error", (error) => failed.reject(mapDatabaseError(error, where)));
  client.on("end", () => failed.reject(mapDatabaseError(new Error("Connection terminated"), where)));
  signal.addEventListener("abort", stop, { once: true });
  try {
    await Promise.race([client.connect(), failed.promise]);
    const rows = await Promise.race([
      submit(client, options, (onCopyData) => {
        take = onCopyData;
      }),
      failed.promise,
    ]);
    // Ends the session in order; whether that arrives changes nothing.
    await client.end().catch(() => {});
    return rows;
  } catch (error) {
    signal.throwIfAborted();
    throw mapDatabaseError(error, where, true);
  } finally {
    signal.removeEventListener("abort", stop);
    // Not awaited: a connection that died never answers.
    streamOf(client).destroy();
  }
}

function submit(
  client: pg.Client,
  options: CopyOutOptions,
  listen: (onCopyData: CopyRow) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = streamOf(client);
    let rows = 0;
    let announced = -1;
    let first = true;
    let failure: unknown;
    const take: CopyRow = (source, messageStart, end) => {
      if (failure !== undefined) return;
      // The header comes with the first row, and every message holds exactly one row.
      const start = first ? messageStart + headerBytes : messageStart;
      first = false;
      if (start >= end || source.readInt16BE(start) === trailer) return;
      try {
        options.onRow(source, start, end);
        rows += 1;
      } catch (error) {
        failure = error;
        reject(error);
        stream.destroy();
      }
    };
    listen(take);
    const query: Submittable = {
      submit(connection) {
        connection.query(`copy (${options.select}) to stdout (format binary)`);
      },
      // Through the driver only where it decrypts what comes.
      handleCopyData({ chunk }) {
        take(chunk, 0, chunk.length);
      },
      handleCommandComplete({ text }) {
        announced = Number(/^COPY (\d+)$/.exec(text)?.[1] ?? -1);
      },
      handleReadyForQuery() {
        if (announced === rows) resolve(rows);
        else reject(new Error(`The database announced ${announced} rows and sent ${rows}.`));
      },
      handleError: reject,
    };
    options.onStart?.({ pause: () => void stream.pause(), resume: () => void stream.resume() });
    client.query(query as unknown as pg.Submittable);
  });
}

function streamOf(client: pg.Client): { pause(): void; resume(): void; destroy(): void } {
  return (client as unknown as { connection: { stream: { pause(): void; resume(): void; destroy(): void } } })
    .connection.stream;
}
