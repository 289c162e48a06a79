import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Route } from "../../src/platform/http/route.ts";
import type { TestApp } from "./app.ts";
import type { ForeignCall, Sent } from "./foreign-call.ts";
import { foreignCalls, parameterIds } from "./foreign-calls.ts";
import { idFields, pathParameters } from "./route-ids.ts";
import { probe, routeName } from "./security-probe.ts";
import type { TenantIds } from "./tenant-resources.ts";
import { differingRows } from "./tenant-rows.ts";
import { createTenants, type Tenants } from "./tenants.ts";

/**
 * Open routes that take no id of anybody: pages that are the same for everybody, and links whose path is the
 * credential. Every open route is named in tests/security.test.ts.
 */
const withoutIds = [
  /^GET \/(o|open|chat|console|host-oauth-callback|v2\/auth\/(callback|setup|consent))\//,
  /^\w+ \/api\/v1\/feedback\/tokens\/\{token\}$/,
  /^GET \/api\/v1\/attachments\/\{token\}$/,
  /^\w+ (\/api\/v[12])?\/public\/\{share_token\}\//,
  /^GET \/v2\/chat\/shared\/\{share_token\}$/,
];

type Request = { params: Record<string, string>; sent: Sent };

/** Reads off which ids a route's request is made of. */
function requestOf(route: Route, ids: TenantIds): Request {
  const { path } = route.spec;
  const area = Object.keys(parameterIds)
    .filter((prefix) => path === prefix || path.startsWith(`${prefix}/`))
    .sort((one, other) => other.length - one.length)[0];
  const names = parameterIds[area ?? ""] ?? {};
  const sent = foreignCalls[routeName(route)]?.send?.(ids) ?? {};
  const params: Record<string, string> = {};
  for (const name of pathParameters(route)) {
    const key = names[name];
    if (key !== undefined) params[name] = ids[key];
    if (sent.params?.[name] !== undefined) params[name] = sent.params[name];
  }
  return { params, sent };
}

/** The ids a request is made of, found by watching which ones are asked for. */
function idsUsed(route: Route, ids: TenantIds): (keyof TenantIds)[] {
  const used = new Set<keyof TenantIds>();
  const watched = new Proxy(ids, {
    get(target, name) {
      used.add(name as keyof TenantIds);
      return target[name as keyof TenantIds];
    },
  });
  requestOf(route, watched);
  return [...used].filter((name) => name !== "repositoryUrl");
}

const takesIds = (route: Route): boolean =>
  !withoutIds.some((pattern) => pattern.test(routeName(route))) &&
  (pathParameters(route).length > 0 ||
    idFields(route).length > 0 ||
    foreignCalls[routeName(route)] !== undefined);

/** What is missing from the tables, as sentences that name what to add. */
export function missingCalls(routes: readonly Route[], ids: TenantIds): string[] {
  const names = new Set(routes.map(routeName));
  const stale = Object.keys(foreignCalls)
    .filter((name) => !names.has(name))
    .map((name) => `${name} is no route any more: take it out of tests/support/foreign-calls.ts.`);
  const values = new Set<unknown>(Object.values(ids));
  const missing = routes.filter(takesIds).flatMap((route) => {
    const { params, sent } = requestOf(route, ids);
    const name = routeName(route);
    const unnamed = pathParameters(route).filter((parameter) => params[parameter] === undefined);
    const told = [sent.body, sent.query];
    const { without = {} } = foreignCalls[name] ?? {};
    const untold = idFields(route).filter(
      (field) => without[field] === undefined && !valuesAt(told, field).some((value) => values.has(value)),
    );
    const isBare =
      (route.spec.body || route.spec.rawBody) && !foreignCalls[name] && route.spec.method !== "delete";
    return [
      ...unnamed.map(
        (parameter) =>
          `${name}: say in parameterIds of tests/support/foreign-calls.ts whose id {${parameter}} is.`,
      ),
      ...untold.map(
        (field) =>
          `${name}: send ${field} in foreignCalls of tests/support/foreign-calls.ts, with an id of the tenant's.`,
      ),
      ...(isBare
        ? [`${name}: add a request with a whole body to foreignCalls of tests/support/foreign-calls.ts.`]
        : []),
    ];
  });
  return [...stale, ...missing];
}

/** All plain values at or below a field of this name. */
function valuesAt(value: unknown, field: string, within = false): unknown[] {
  if (typeof value !== "object" || value === null) return within ? [value] : [];
  return Object.entries(value).flatMap(([name, each]) => valuesAt(each, field, within || name === field));
}

export function describeTenants(start: () => Promise<TestApp>): void {
  describe("two workspaces, each with one of everything", () => {
    let app: TestApp;
    let tenants: Tenants;
    beforeAll(async () => {
      app = await start();
      tenants = await createTenants(app);
    }, 60_000);
    afterAll(() => app?.stop());

    test("every route that takes an id is in the tables", () => {
      expect(missingCalls(app.app.routes, tenants.mine)).toEqual([]);
    });

    test("another workspace's ids open nothing and change nothing, one by one and all at once", {
      timeout: 600_000,
    }, async () => {
      const { mine, theirs } = tenants;
      const found: string[] = [];
      let before = await tenants.theirRows();
      // What makes its own comes last: from then on the id is one's own too.
      const makes = (route: Route) => foreignCalls[routeName(route)]?.outcome === "makes its own";
      const routes = app.app.routes
        .filter(takesIds)
        .sort((one, other) => Number(makes(one)) - Number(makes(other)));
      for (const route of routes) {
        const used = idsUsed(route, mine);
        const mixes = [
          ...used.map((name) => ({ [name]: theirs[name] })),
          ...(used.length > 1 ? [theirs] : []),
        ];
        for (const mix of mixes) {
          const breach = await attempt(route, mix);
          if (breach) found.push(`${routeName(route)} with their ${Object.keys(mix).slice(0, 3)}: ${breach}`);
        }
        if (route.spec.method === "get" && route !== routes.at(-1)) continue;
        const after = await tenants.theirRows();
        const workspaces = { theirs: theirs.workspaceId, mine: mine.workspaceId };
        found.push(...differingRows(before, after, workspaces).map((row) => `${routeName(route)}: ${row}`));
        before = after;
      }
      expect(found).toEqual([]);
    });

    test("the same requests do work with one's own ids", { timeout: 120_000 }, async () => {
      const failed: string[] = [];
      const turnOf = (route: Route) => foreignCalls[routeName(route)]?.turn ?? 0;
      const order = ["get", "post", "put", "patch", "delete"];
      const routes = app.app.routes
        .filter((route) => takesIds(route) && route.spec.access.kind !== "open")
        .sort(
          (one, other) =>
            turnOf(one) - turnOf(other) ||
            order.indexOf(one.spec.method) - order.indexOf(other.spec.method) ||
            other.spec.path.length - one.spec.path.length,
        );
      for (const route of routes) {
        const { owner } = foreignCalls[routeName(route)] ?? {};
        if (owner === "waits") continue;
        const answer = await send(route, tenants.mine);
        const text = answer.status >= 400 ? await answer.text() : "";
        await answer.body?.cancel().catch(() => {});
        const { outcome } = foreignCalls[routeName(route)] ?? {};
        const right = answer.ok ? !owner || outcome !== undefined : answer.status === owner?.status;
        if (!right) failed.push(`${routeName(route)}: ${answer.status} ${text.slice(0, 300)}`);
      }
      expect(failed).toEqual([]);
    });

    test("the token of one deployment opens no route of the platform", async () => {
      const { body } = await app.call<{ token: string }>(
        "POST",
        `/v2/deployments/${tenants.theirs.deploymentId}/tokens`,
        { headers: { "x-api-key": tenants.theirs.key, "x-tenant-id": tenants.theirs.workspaceId } },
      );
      expect(body.token.length).toBeGreaterThan(20);
      const opened: string[] = [];
      for (const route of app.app.routes.filter(({ spec }) => spec.access.kind !== "open")) {
        const answer = await probe(app.app.fetch as never, route, {
          headers: { authorization: `Bearer ${body.token}` },
        });
        if (answer.status !== 403 || answer.code !== "request.token_of_deployment") {
          opened.push(`${answer.route}: ${answer.status} ${answer.code}`);
        }
      }
      expect(opened).toEqual([]);
    });

    test("a session's cookie opens nothing for pages of other sites, and no write without the console's mark", async () => {
      const { cookie } = tenants.theirs;
      const host = "127.0.0.1";
      const strangers: Record<string, string>[] = [
        { cookie, origin: "https://other.example", "x-treadle-console": "1" },
        { cookie, "sec-fetch-site": "cross-site", "x-treadle-console": "1" },
        { cookie, "sec-fetch-site": "same-site", origin: `http://page.localhost`, "x-treadle-console": "1" },
        { cookie, origin: "null", "sec-fetch-site": "cross-site" },
      ];
      const unmarked = { cookie, origin: `http://${host}`, "sec-fetch-site": "same-origin" };
      const opened: string[] = [];
      for (const route of app.app.routes.filter(({ spec }) => spec.access.kind !== "open")) {
        const probes = route.spec.method === "get" ? strangers : [...strangers, unmarked];
        for (const headers of probes) {
          const answer = await probe(app.app.fetch as never, route, { headers });
          if (![401, 403].includes(answer.status))
            opened.push(`${answer.route} (${answer.sent}): ${answer.status}`);
        }
      }
      expect(opened).toEqual([]);
      const own = await app.app.fetch(
        new Request(`http://${host}/v2/auth/sessions/current`, {
          headers: { ...unmarked, "x-treadle-console": "1" },
        }),
      );
      expect(own.status).toBe(200);
    });

    async function send(route: Route, ids: TenantIds): Promise<Response> {
      const { params, sent } = requestOf(route, ids);
      const path = route.spec.path.replace(/\{([\w.-]+)(\*?)\}/g, (_, name: string) =>
        encodeURIComponent(params[name] ?? "x"),
      );
      const query = sent.query ? `?${new URLSearchParams(sent.query)}` : "";
      const headers = new Headers({ "x-api-key": tenants.mine.key, "x-tenant-id": tenants.mine.workspaceId });
      const init: RequestInit = {
        method: route.spec.method.toUpperCase(),
        headers,
        signal: AbortSignal.timeout(10_000),
      };
      if (sent.bytes) {
        headers.set("content-type", sent.bytes.type);
        init.body = new Uint8Array(sent.bytes.content);
      } else if (sent.body !== undefined) {
        headers.set("content-type", "application/json");
        init.body = JSON.stringify(sent.body);
      }
      return app.app.fetch(new Request(`http://127.0.0.1${path}${query}`, init));
    }

    /** What is wrong with the answer, or null. */
    async function attempt(route: Route, mix: Partial<TenantIds>): Promise<string | null> {
      const { outcome, free = [], refusal, owner }: ForeignCall = foreignCalls[routeName(route)] ?? {};
      const isFree = Object.keys(mix).every((name) => (free as string[]).includes(name));
      if (isFree && owner === "waits") return null;
      const answer = await send(route, { ...tenants.mine, ...mix });
      const refused = [401, 403, 404, refusal].includes(answer.status);
      if (!refused && outcome === undefined && !isFree) {
        const text = answer.status >= 400 ? await answer.text() : "";
        await answer.body?.cancel().catch(() => {});
        return `${answer.status} ${text.slice(0, 200)}`;
      }
      if (refused) return null;
      if (answer.headers.get("content-type")?.startsWith("text/event-stream")) {
        await answer.body?.cancel().catch(() => {});
        return null;
      }
      const text = await answer.text();
      if (answer.status >= 500) return `${answer.status} ${text.slice(0, 200)}`;
      return text.includes(tenants.theirs.mark)
        ? `${answer.status} shows theirs: ${text.slice(0, 200)}`
        : null;
    }
  });
}
