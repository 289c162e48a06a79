import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { carriesKey } from "../../platform/http/access/carried-key.ts";
import type { OnRequest, OnUpgrade } from "../../platform/http/server/server.ts";

const header = "x-treadle-instance-secret";
const callerHeader = "x-treadle-caller";
const refusal = JSON.stringify({
  detail: "This server belongs to a deployment. Call it at the deployment's address, not at its port.",
});

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

  constructor(secret: string) {
    this.#expected = digest(secret);
  }

  onRequest(...[incoming, outgoing]: Parameters<OnRequest>): ReturnType<OnRequest> {
    if (this.#isKnown(incoming)) {
      removeHeader(incoming);
      return null;
    }
    outgoing.writeHead(403, { "content-type": "application/json", connection: "close" });
    outgoing.end(incoming.method === "HEAD" ? undefined : refusal);
    return "(refused)";
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
