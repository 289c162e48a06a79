import type { TenantIds } from "./tenant-resources.ts";

export type Sent = {
  /** Path parameters, where they are not the ones of `parameterIds`. */
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  /** Instead of `body`. */
  bytes?: { type: string; content: Buffer };
};

/**
 * How a route is called that takes ids: a whole request that works for the owner of the ids. With an id of another
 * workspace it answers 403 or 404, unless it
 * - `finds nothing`: it searches, and answers with nothing of the other workspace;
 * - `makes its own`: the id is the caller's to choose. Each workspace has its own of it, or it is 409.
 */
export type ForeignCall = {
  send?: (ids: TenantIds) => Sent;
  outcome?: "finds nothing" | "makes its own";
  /** Ids that are names the caller chooses, or mean something only together with another: `makes its own` for these. */
  free?: readonly IdName[];
  /** The status of the refusal where it is neither 403 nor 404. */
  refusal?: number;
  /** Fields that are not sent, and why. */
  without?: Record<string, string>;
  /** When the owner tries it, where something else of it must be tried before (or, below 0, after). */
  turn?: number;
  /** What the owner gets where it is not 2xx, and why; `waits` for what no worker does in this suite. */
  owner?: { status: number; why: string } | "waits";
};

export type IdName = keyof TenantIds;
export type ForeignCalls = Record<string, ForeignCall>;

export const json = (body: (ids: TenantIds) => unknown): ForeignCall => ({
  send: (ids) => ({ body: body(ids) }),
});
export const search = (body: (ids: TenantIds) => unknown): ForeignCall => ({
  ...json(body),
  outcome: "finds nothing",
});
export const lookUp = (query: (ids: TenantIds) => Record<string, string>): ForeignCall => ({
  send: (ids) => ({ query: query(ids) }),
  outcome: "finds nothing",
});
export const exists = { status: 409, why: "it exists already" };
export const created = (body: (ids: TenantIds) => unknown): ForeignCall => ({
  ...json(body),
  outcome: "makes its own",
  owner: exists,
});
export const unreachable = (status: number) => ({ status, why: "nothing listens at the address" });
