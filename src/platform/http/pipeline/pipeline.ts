import type { AppError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { HttpMetrics } from "../../metrics.ts";
import type { Authenticator } from "../access/caller.ts";
import type { Cors, CorsRules } from "../access/cors.ts";
import type { FailedCredentials } from "../access/failed-credentials.ts";
import type { AuditSink } from "../audit/audit.ts";
import type { IdempotencyStore } from "../idempotency/idempotency.ts";
import type { ApiDocument } from "../openapi/openapi.ts";
import type { Route } from "../route.ts";
import type { AccessLog, PickHeaders } from "../server/access-log.ts";
import type { ServerEnv } from "../server/server-env.ts";
import type { Authorize } from "./authorize.ts";

export type HttpAppOptions = {
  routes: Route[];
  authenticator: Authenticator;
  /** Slows down guessing; left out, nothing is counted. */
  failedCredentials?: FailedCredentials;
  agentAuthRequired: boolean;
  /** Records routes and refusals; left out, nothing is recorded. */
  audit?: AuditSink;
  logger: Logger;
  metrics: HttpMetrics;
  corsOrigins: string[];
  /** Finer rules, where a project has some. */
  cors?: Omit<CorsRules, "origins" | "allowLoopback">;
  /** Served at their own paths, and browsable at /docs. */
  documents: ApiDocument[];
  /** Check every answer against the route's published schemas. */
  validateResponses: boolean;
  idempotency?: IdempotencyStore;
  loggedHeaders?: PickHeaders;
  /** Whether a request counts as keyed, where that shows in another way than by the key itself. */
  isKeyed?: (headers: Headers) => boolean;
  /** Prefix to the paths served under it as well, for example `{ "/api-host": ["/v1", "/v2"] }`. */
  aliases?: Record<string, string[]>;
  /** The answer for a route that another process serves; null if no process serves it. */
  elsewhere?: ((method: string, path: string) => AppError | null) | undefined;
  /** The page for an unknown address; programs get JSON. */
  nowherePage?: () => Promise<Response>;
};

export type HttpHono = { Bindings: ServerEnv };

/** What every route handler is built from. */
export type Pipeline = {
  options: HttpAppOptions;
  cors: Cors;
  authorize: Authorize;
  accessLog: AccessLog;
  neverAborts: AbortSignal;
};
