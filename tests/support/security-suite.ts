import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Role, roleCovers } from "../../src/platform/http/access/caller.ts";
import { type Scope, scopesCover } from "../../src/platform/http/access/scope.ts";
import type { Route } from "../../src/platform/http/route.ts";
import {
  type AppFetch,
  createSecurityCredentials,
  type SecurityAdmin,
  type SecurityCredentials,
} from "./security-credentials.ts";
import { type Breach, badCredentials, type Probe, probe, routeName } from "./security-probe.ts";
import { expectedRole } from "./security-roles.ts";

/** A key of one tracing project lacks the scope, or has it and is kept to its project. */
const tracingRefusals = ["request.scope_missing", "request.tracing_project_only"];

/** Resources of the second workspace, for the routes whose path starts with `under`. */
export type ForeignResource = { under: string; params: Record<string, string> };

export type SecurityTarget = {
  fetch: AppFetch;
  /** Every route the app serves. */
  routes: readonly Route[];
  admin: SecurityAdmin;
  /** Makes resources in the second workspace; the first one then tries to reach them. */
  createForeignResources?(second: SecurityCredentials["second"]): Promise<ForeignResource[]>;
  stop(): Promise<void>;
};

export type SecurityOptions = {
  start(): Promise<SecurityTarget>;
  /** `METHOD /path` of every route that answers anybody. */
  openRoutes: readonly string[];
  /** Whether the agent routes answer loopback callers without a credential. */
  agentRoutes: "open on loopback" | "closed";
};

/**
 * Open wherever people sign in to the console, because somebody who signs in has no credential yet.
 * - the list of ways names the provider and nothing else;
 * - the posts take a key or a one-time code in their body, only from this server's own pages, and count what they refuse.
 *
 * Where a provider is set up, the two redirects of `/v2/auth/oidc/` are open too.
 */
export const openSignInRoutes = [
  "GET /v2/auth/sign-in",
  "POST /v2/auth/sign-in/key",
  "POST /v2/auth/sign-in/code",
] as const;

/** What every route must hold, whatever it does. One test per rule; a failure names the routes that break it. */
export function describeSecurity(name: string, options: SecurityOptions): void {
  describe(`security of ${name}`, () => {
    let target: SecurityTarget;
    let credentials: SecurityCredentials;
    beforeAll(async () => {
      target = await options.start();
      credentials = await createSecurityCredentials(target.fetch, target.admin);
    });
    afterAll(() => target?.stop());

    const withKey = (key: string, tenant: string): Record<string, string> => ({
      "x-api-key": key,
      "x-tenant-id": tenant,
    });
    const guarded = () => target.routes.filter((route) => route.spec.access.kind !== "open");
    const agents = () => target.routes.filter((route) => route.spec.access.kind === "agent");

    async function breaches(
      routes: readonly Route[],
      probes: Probe[],
      allowed: (status: number, route: Route) => boolean,
    ): Promise<Breach[]> {
      const found: Breach[] = [];
      for (const route of routes) {
        for (const each of probes) {
          const answer = await probe(target.fetch, route, each);
          if (!allowed(answer.status, route) || !answer.wellFormed) found.push(answer);
        }
      }
      return found;
    }

    test("the open routes are the ones listed", () => {
      const open = target.routes.filter((route) => route.spec.access.kind === "open").map(routeName);
      expect(open.sort()).toEqual([...options.openRoutes].sort());
    });

    test("without a credential: 401", async () => {
      const closed = guarded().filter(
        ({ spec }) => spec.access.kind === "workspace" || options.agentRoutes === "closed",
      );
      expect(await breaches(closed, [{ headers: {} }], (status) => status === 401)).toEqual([]);
    });

    test("agent routes: strangers and other sites' pages are refused without a credential", async () => {
      const expected = options.agentRoutes === "closed" ? 401 : 403;
      const probes: Probe[] = [
        { headers: {}, host: "treadle.example" },
        { headers: { origin: "https://other.example" } },
        { headers: { "sec-fetch-site": "cross-site" } },
      ];
      expect(await breaches(agents(), probes, (status) => status === expected)).toEqual([]);
    });

    test("a bad credential: 401, on agent routes too", async () => {
      const probes = badCredentials.map((headers) => ({ headers }));
      expect(await breaches(guarded(), probes, (status) => status === 401)).toEqual([]);
    });

    test("a revoked key: 401", async () => {
      const { workspaceId, revoked } = credentials.first;
      const probes = [{ headers: withKey(revoked, workspaceId) }];
      expect(await breaches(guarded(), probes, (status) => status === 401)).toEqual([]);
    });

    test("another workspace in X-Tenant-Id: 403, an unknown one too", async () => {
      const { admin } = credentials.first;
      const probes = [credentials.second.workspaceId, crypto.randomUUID()].map((tenant) => ({
        headers: withKey(admin, tenant),
      }));
      expect(await breaches(guarded(), probes, (status) => status === 403)).toEqual([]);
    });

    test("an X-Tenant-Id that is no uuid: 422", async () => {
      const probes = [{ headers: withKey(credentials.first.admin, "not-a-uuid") }];
      expect(await breaches(guarded(), probes, (status) => status === 422)).toEqual([]);
    });

    test("each role opens what the lists say, and nothing else", async () => {
      const { workspaceId, viewer, editor, admin } = credentials.first;
      const found: string[] = [];
      for (const [role, key] of Object.entries({ viewer, editor, admin }) as [Role, string][]) {
        for (const route of guarded()) {
          const answer = await probe(target.fetch, route, { headers: withKey(key, workspaceId) });
          const refused = answer.status === 403 && answer.code === "request.role_too_low";
          if (refused === roleCovers(role, expectedRole(route))) {
            found.push(`${routeName(route)} as ${role}: ${answer.status} ${answer.code ?? ""}`);
          }
        }
      }
      expect(found).toEqual([]);
    });

    test("a key with one scope: 403 that says so, unless the route's scope is that one", async () => {
      const found: Breach[] = [];
      for (const [scope, key] of Object.entries(credentials.first.scoped) as [Scope, string][]) {
        const headers = withKey(key, credentials.first.workspaceId);
        const closed = guarded().filter(
          ({ spec }) => spec.access.kind !== "open" && !scopesCover([scope], spec.access.scope),
        );
        if (scope !== "admin") expect(closed, scope).not.toEqual([]);
        for (const route of closed) {
          const answer = await probe(target.fetch, route, { headers });
          if (answer.status !== 403 || answer.code !== "request.scope_missing") {
            found.push({ ...answer, sent: `scope ${scope}` });
          }
        }
      }
      expect(found).toEqual([]);
    });

    test("the key of one tracing project: 403 wherever the project is not looked at", async () => {
      const headers = withKey(credentials.first.tracing, credentials.first.workspaceId);
      const closed = guarded().filter(
        ({ spec }) => spec.access.kind !== "open" && !spec.access.checksTracingProject,
      );
      const found: Breach[] = [];
      for (const route of closed) {
        const answer = await probe(target.fetch, route, { headers });
        if (answer.status !== 403 || !tracingRefusals.includes(answer.code ?? "")) found.push(answer);
      }
      expect(found).toEqual([]);
    });

    test("another workspace's resources: 404, as if they did not exist", async () => {
      const { first, second } = credentials;
      const foreign: ForeignResource[] = [
        { under: "/v2/api-keys/", params: { key_id: second.keyId } },
        { under: "/v2/workspaces/", params: { workspace_id: second.workspaceId } },
        { under: "/v2/members/", params: { user_id: second.userId } },
        ...((await target.createForeignResources?.(second)) ?? []),
      ];
      const headers = withKey(first.admin, first.workspaceId);
      const found: Breach[] = [];
      for (const { under, params } of foreign) {
        const routes = guarded().filter(({ spec }) => spec.path.startsWith(under));
        expect(routes.map(routeName), `no route is under ${under}`).not.toEqual([]);
        // A body of nothing may be refused before anything is looked up; without a body only 404 is right.
        found.push(
          ...(await breaches(routes, [{ headers, params }], (status, { spec }) =>
            spec.body || spec.query || spec.rawBody ? [400, 404, 415, 422].includes(status) : status === 404,
          )),
        );
      }
      expect(found).toEqual([]);
    });

    test("a good key on ids that name nothing, or are none: recognised, and never a failure", async () => {
      const headers = withKey(credentials.first.admin, credentials.first.workspaceId);
      const passes = (status: number) => status < 500 && status !== 401;
      const withIds = guarded().filter(({ spec }) => spec.path.includes("{"));
      const strange: Probe[] = ["not-an-id", "%00", "%ff", "..%2f.."].map((fill) => ({ headers, fill }));
      expect([
        ...(await breaches(guarded(), [{ headers }], passes)),
        ...(await breaches(withIds, strange, passes)),
      ]).toEqual([]);
    });
  });
}
