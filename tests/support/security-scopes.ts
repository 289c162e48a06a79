import { neededScopes, type Scope, scopes } from "../../src/platform/http/access/scope.ts";
import type { Route } from "../../src/platform/http/route.ts";
import { routeName } from "./security-probe.ts";

/** Any of these scopes opens what reads and what writes below a path. `write` is every method but GET. */
type Expected = { read: readonly Scope[]; write: readonly Scope[] };

const agent: Expected = { read: ["read", "runs"], write: ["runs"] };
const traces: Expected = { read: ["read"], write: ["traces:write"] };
const deployments: Expected = { read: ["read", "deploy"], write: ["deploy"] };
const connections: Expected = { read: ["read", "deploy"], write: ["admin"] };
const accounts: Expected = { read: ["accounts"], write: ["accounts"] };
const providers: Expected = { read: ["read", "accounts"], write: ["admin"] };
/** For the process of a listener, and for nobody else. */
const listening: Expected = { read: ["listener"], write: ["listener"] };
const administration: Expected = { read: ["read"], write: ["admin"] };

/**
 * What each area asks for, written down a second time: a route whose own words are wrong does not agree with it. The
 * longest path that fits counts.
 */
export const expectedScopes: Record<string, Expected> = {
  "/.well-known": agent,
  "/a2a": agent,
  "/api/assistants": agent,
  "/api/threads": agent,
  "/assistants": agent,
  "/mcp": agent,
  "/runs": agent,
  "/v2/playground": agent,
  "/store": agent,
  "/threads": agent,
  "/ui": agent,
  "/api/v1": traces,
  "/api/v2": traces,
  "/otel": traces,
  "/api/v1/bulk-exports": { read: ["read", "export"], write: ["export"] },
  "/api/v1/settings": administration,
  "/metrics": administration,
  "/v1/integrations": connections,
  "/v2/integrations": connections,
  "/v2/listeners": connections,
  "/v2/listeners/{listener_id}/lease": listening,
  "/v2/listeners/{listener_id}/poll": listening,
  "/v2/listeners/{listener_id}/reports": listening,
  "/v2/listeners/{listener_id}/callers": listening,
  "/v2/listeners/{listener_id}/revisions": listening,
  "/v1/projects": deployments,
  "/v2/deployments": deployments,
  "/v2/organizations": { read: ["read", "runs", "deploy", "export", "accounts"], write: ["admin"] },
  "/v2/alerts": deployments,
  "/v2/deployment-logs": deployments,
  "/v2/templates": deployments,
  "/v2/deployment-pages": { read: ["read", "runs"], write: ["read", "runs"] },
  "/v2/chat": agent,
  "/v2/auth": accounts,
  "/v2/auth/platform-providers": providers,
  "/v2/auth/provider-templates": providers,
  "/v2/auth/providers": providers,
  "/v2/auth/webhook": { read: ["admin"], write: ["admin"] },
  "/v2/auth/sessions": administration,
  "/v2/api-keys": administration,
  "/v2/audit-events": { read: ["admin"], write: ["admin"] },
  "/v2/events": administration,
  "/v2/chat/shares": agent,
  "/v2/search": administration,
  "/v2/members": administration,
  "/v2/model-keys": administration,
  "/v2/workspaces": {
    read: ["read", "runs", "deploy", "export", "accounts"],
    write: ["admin"],
  },
};

/** Routes that differ from their area, each with the reason. */
const exceptions: Record<string, readonly Scope[]> = {
  // Whoever holds a session may see it and end it.
  "GET /v2/auth/sessions/current": scopes,
  "PATCH /v2/auth/sessions/current": scopes,
  "DELETE /v2/auth/sessions/current": scopes,
  // A token for the agents of a deployment, with the caller's own rights: it deploys nothing.
  "POST /v2/deployments/{deployment_id}/tokens": ["read", "runs"],
  // Everybody who sees a feedback link may use it, so only callers who may write get one.
  "GET /api/v1/feedback/tokens": ["traces:write"],
  // Its process asks whose it is.
  "GET /v2/listeners/{listener_id}": ["read", "deploy", "listener"],
  // The account of the whole workspace, no person's.
  "DELETE /v2/auth/tokens/workspace/slack": ["admin"],
};

/** Searches, counts and log queries are posts that only read. A demand for what reads is right for them. */
function agrees(route: Route, expected: Expected): boolean {
  const { access, method } = route.spec;
  if (access.kind === "open") return true;
  const asked = [...neededScopes(access.scope)].sort().join();
  const forms = method === "get" ? [expected.read] : [expected.write, expected.read];
  return forms.some((form) => [...form].sort().join() === asked);
}

/** Routes whose scope is not the one of their area, or whose area is not in the table; exceptions for no route. */
export function scopesThatDiffer(routes: readonly Route[]): string[] {
  const names = new Set(routes.map(routeName));
  const stale = Object.keys(exceptions).filter((name) => !names.has(name));
  const differing = routes.flatMap((route) => {
    const { access, path } = route.spec;
    if (access.kind === "open") return [];
    const exception = exceptions[routeName(route)];
    const area = Object.keys(expectedScopes)
      .filter((prefix) => path === prefix || path.startsWith(`${prefix}/`) || path.startsWith(`${prefix}.`))
      .sort((one, other) => other.length - one.length)[0];
    const expected = exception ? { read: exception, write: exception } : expectedScopes[area ?? ""];
    if (expected && agrees(route, expected)) return [];
    return [`${routeName(route)} asks for ${neededScopes(access.scope).join(", ")}`];
  });
  return [...stale.map((name) => `${name} is no route`), ...differing];
}
