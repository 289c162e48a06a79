import type pg from "pg";

/** What the driver calls on every object that runs as a query; its own types do not name all of it. */
type Submittable = {
  submit(connection: CopyConnection): void;
  handleCopyInResponse(connection: CopyConnection): void;
  handleCommandComplete(message: { text: string }, connection: unknown): void;
  handleReadyForQuery(connection: unknown): void;
  handleError(error: Error, connection: unknown): void;
};

type CopyConnection = {
  query(text: string): void;
  endCopyFrom(): void;
  stream: { cork(): void; uncork(): void; write(bytes: Uint8Array): void };
};

const copyData = 0x64;

/**
 * Sends one whole binary COPY and answers the number of rows. Like any statement it writes all of them or none.
 * The bytes go to the socket as they are: the driver's own way would copy them once more.
 */
export function copyIn(client: pg.ClientBase, target: string, data: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let rows = 0;
    const query: Submittable = {
      submit: (connection) => connection.query(`copy ${target} from stdin (format binary)`),
      handleCopyInResponse(connection) {
        const { stream } = connection;
        const head = Buffer.allocUnsafe(5);
        head[0] = copyData;
        head.writeInt32BE(data.byteLength + 4, 1);
        stream.cork();
        stream.write(head);
        stream.write(data);
        connection.endCopyFrom();
        stream.uncork();
      },
      handleCommandComplete({ text }) {
        rows = Number(/^COPY (\d+)$/.exec(text)?.[1] ?? 0);
      },
      handleReadyForQuery: () => resolve(rows),
      handleError: reject,
    };
    client.query(query as unknown as pg.Submittable);
  });
}
