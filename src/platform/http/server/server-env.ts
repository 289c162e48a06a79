import type { IncomingMessage, ServerResponse } from "node:http";

/** What the server passes along with a request; in-process requests have none of it. */
export type ServerEnv = {
  incoming?: IncomingMessage;
  outgoing?: ServerResponse;
  shutdown?: AbortSignal;
  /** Filled in while routing, so that a stop can name what it interrupted. */
  inFlight?: { method: string; route: string };
};
