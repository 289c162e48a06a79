import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { carriesKey } from "../../platform/http/access/carried-key.ts";
import type { OnRequest, OnUpgrade } from "../../platform/http/server/server.ts";

const header = "x-treadle-instance-secret";
const callerHeader = "x-treadle-caller";
const usagePaths = { "/usage": { withRuns: false }, "/usage?runs": { withRuns: true } };
const refusal = JSON.stringify({
  detail: "This server belongs to a deployment. Call it at the deployment's address, not at its port.",
});

/** What this server uses, and on request the runs that wait for it and its replicas, and its own. */
export type Usage = {
  cpu_seconds: number;
  memory_bytes: number;
  pending_runs?: number;
  running_runs?: number;
};

/** Set by the gateway for a caller who holds a credential of the deployment's workspace. */
export function isOperator(headers: Headers): boolean {
  return headers.get(callerHeader) === "operator";
}

/** Set by the gateway for a request with a key, which the gateway has checked and kept. */
export function bringsKey(headers: Headers): boolean {
  return isOperator(headers) || headers.get(callerHeader) === "key" || carriesKey(headers);
}

/**
 * The front door of a server that a gateway stands before: any process of the machine can reach its port, so only
 * requests with the secret get in, and nothing behind this door sees it.
 */
export class InstanceGuard {
  readonly #expected: Buffer;
  readonly #announced: string;
  readonly #usage: (withRuns: boolean) => Promise<Usage>;

  /**
   * `announced` and `usage`: the answers to requests of the platform itself, not made for a caller. The latter at
   * /usage, whatever routes the project has.
   */
  constructor(
    secret: string,
    announced: { graphs: string[]; broken: Record<string, string> },
    usage: (withRuns: boolean) => Promise<Usage>,
  ) {
    this.#expected = digest(secret);
    this.#announced = JSON.stringify(announced);
    this.#usage = usage;
  }

  onRequest(...[incoming, outgoing]: Parameters<OnRequest>): ReturnType<OnRequest> {
    if (this.#isKnown(incoming)) {
      if (incoming.headers[callerHeader] === "platform") {
        const usage = usagePaths[incoming.url as keyof typeof usagePaths];
        if (usage) {
          void this.#tellUsage(outgoing, usage.withRuns);
          return "(usage)";
        }
        outgoing.writeHead(200, { "content-type": "application/json" }).end(this.#announced);
        return "(announced)";
      }
      removeHeader(incoming);
      return null;
    }
    outgoing.writeHead(403, { "content-type": "application/json", connection: "close" });
    outgoing.end(incoming.method === "HEAD" ? undefined : refusal);
    return "(refused)";
  }

  async #tellUsage(outgoing: ServerResponse, withRuns: boolean): Promise<void> {
    try {
      const text = JSON.stringify(await this.#usage(withRuns));
      outgoing.writeHead(200, { "content-type": "application/json" }).end(text);
    } catch {
      // The database is unreachable: the caller continues with what is known.
      outgoing.writeHead(503).end();
    }
  }

  onUpgrade(next: OnUpgrade): OnUpgrade {
    return (incoming, socket, ...rest) => {
      if (this.#isKnown(incoming)) {
        removeHeader(incoming);
        next(incoming, socket, ...rest);
        return;
      }
      socket.end(
        `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(refusal)}\r\nConnection: close\r\n\r\n${refusal}`,
      );
    };
  }

  #isKnown(incoming: IncomingMessage): boolean {
    const given = incoming.headers[header];
    return typeof given === "string" && timingSafeEqual(digest(given), this.#expected);
  }
}

/** Web requests are made from the raw list. */
function removeHeader(incoming: IncomingMessage): void {
  delete incoming.headers[header];
  const { rawHeaders } = incoming;
  for (let index = rawHeaders.length - 2; index >= 0; index -= 2) {
    if (rawHeaders[index]!.toLowerCase() === header) rawHeaders.splice(index, 2);
  }
}

/** Hashed first, so that the time taken reveals nothing, not even the length. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
