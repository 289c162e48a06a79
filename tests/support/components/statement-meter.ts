import { startTcpProxy } from "./tcp-proxy.ts";

/** What was asked, by the name of the prepared statement or the beginning of its text, and how often. */
export type Statements = ReadonlyMap<string, number>;

export type StatementMeter = {
  /** The database's address, by way of the meter. */
  url: string;
  /** What was asked while `work` ran. One at a time. */
  during(work: () => Promise<unknown>): Promise<Statements>;
  stop(): Promise<void>;
};

/**
 * Stands between a client and PostgreSQL and counts the round trips: each simple query and each Sync is one. The
 * connection that listens for notifications is left out: it also asks what recurs, which belongs to no request.
 */
export async function startStatementMeter(databaseUrl: string): Promise<StatementMeter> {
  let counts: Map<string, number> | undefined;
  const proxy = await startTcpProxy({
    target: databaseUrl,
    inspect: () => {
      const client = new ClientMessages((label) => counts?.set(label, (counts.get(label) ?? 0) + 1));
      return (chunk) => client.read(chunk);
    },
  });
  return {
    url: proxy.urlFor(databaseUrl),
    async during(work) {
      const own = new Map<string, number>();
      counts = own;
      try {
        await work();
      } finally {
        counts = undefined;
      }
      return own;
    },
    stop: () => proxy.stop(),
  };
}

const headerBytes = 5;

/** The client's half of one connection, in messages. */
class ClientMessages {
  readonly #ask: (label: string) => void;
  #rest: Buffer = Buffer.alloc(0);
  #begun = false;
  #listens = false;
  #text = "";
  #name = "";

  constructor(ask: (label: string) => void) {
    this.#ask = ask;
  }

  read(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      // The first message has no letter.
      const start = this.#begun ? 1 : 0;
      if (this.#rest.length < start + 4) return;
      const end = start + this.#rest.readInt32BE(start);
      if (this.#rest.length < end) return;
      if (this.#begun) this.#take(String.fromCharCode(this.#rest[0]!), this.#rest.subarray(headerBytes, end));
      this.#begun = true;
      this.#rest = this.#rest.subarray(end);
    }
  }

  #take(letter: string, body: Buffer): void {
    if (letter === "Q") this.#asked(words(body, 0));
    if (letter === "P") this.#text = words(body, 1);
    if (letter === "B") this.#name = words(body, 1);
    if (letter === "S") this.#asked(this.#name || this.#text);
  }

  #asked(label: string): void {
    this.#listens ||= /^listen /i.test(label);
    if (!this.#listens) this.#ask(label.replaceAll(/\s+/g, " ").trim().slice(0, 80));
  }
}

/** The text at this place among those that begin the message, each of which ends with a zero. */
function words(body: Buffer, place: number): string {
  let from = 0;
  for (let passed = 0; passed < place; passed += 1) from = body.indexOf(0, from) + 1;
  return body.toString("utf8", from, body.indexOf(0, from));
}
