/**
 * What a credential may be limited to. A scope never gives more than the role; it takes away.
 *
 * `admin` covers all of them, except where a route wants the scope named by the key. No other covers another: where
 * `runs`, `deploy` or `export` need to read what belongs to them, the route names them beside `read`.
 */
export const scopes = [
  "read",
  "runs",
  "traces:write",
  "deploy",
  "export",
  "accounts",
  "listener",
  "admin",
] as const;
export type Scope = (typeof scopes)[number];

/** A route's demand: one scope, or any one of several. */
export type ScopeNeed = Scope | readonly [Scope, ...Scope[]];

/** What each scope is for, in the words of documents and pages. */
export const scopeWords: Record<Scope, string> = {
  read: "Read what viewers can read: deployments, logs, threads, traces, exports, members. No secrets, no people's accounts.",
  runs: "Start, resume and cancel runs; read and change assistants, threads, store and crons.",
  "traces:write": "Send traces, feedback and datasets. Can be restricted to one tracing project.",
  deploy: "Read and change deployments, revisions and uploads; read their logs.",
  export: "Read and change bulk exports and their destinations.",
  accounts: "Use the connected accounts of its user: read access tokens, start and finish consents.",
  listener:
    "Act for a listener: take the deployments that name it, with their secrets, and report about them.",
  admin: "Everything its role allows, including keys, members, integrations, providers and settings.",
};

/** A service is no person: it has no accounts, and makes neither keys nor members. */
export const serviceScopes = [
  "read",
  "runs",
  "traces:write",
  "deploy",
  "export",
  "listener",
] as const satisfies Scope[];

export function neededScopes(need: ScopeNeed): readonly Scope[] {
  return typeof need === "string" ? [need] : need;
}

/** `held` null: not limited by scopes. */
export function scopesCover(held: readonly Scope[] | null, need: ScopeNeed): boolean {
  if (held === null || held.includes("admin")) return true;
  return neededScopes(need).some((scope) => held.includes(scope));
}

/** Whether a caller with `held` may give `wanted` to another credential. */
export function mayGiveScopes(held: readonly Scope[] | null, wanted: readonly Scope[] | null): boolean {
  if (held === null || held.includes("admin")) return true;
  return wanted?.every((scope) => held.includes(scope)) ?? false;
}
