import { randomBytes } from "node:crypto";
import { Writable } from "node:stream";
import { expect } from "vitest";
import { type AuthService, createAuthService } from "../../src/auth-service/auth-service.ts";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { SecretBox } from "../../src/platform/encryption/secret-box.ts";
import { createHttpApp } from "../../src/platform/http/pipeline/http-app.ts";
import type { Route } from "../../src/platform/http/route.ts";
import { listen, type RunningServer } from "../../src/platform/http/server/server.ts";
import { JobWorker } from "../../src/platform/jobs/job-worker.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { Metrics } from "../../src/platform/metrics.ts";
import { NetworkGuard } from "../../src/platform/network/network-guard.ts";
import { createWorkspaces } from "../../src/workspaces/workspaces.ts";
import { freePort } from "./components/free-port.ts";
import type { OAuthServer } from "./components/oauth-server.ts";
import { createTestDatabase } from "./database.ts";
import { makeOwn } from "./own-key.ts";
import { type Answer, type CallOptions, callApp, createTestClock, type TestClock } from "./workspaces-app.ts";

export type Person = { key: string; userId: string };

export type AuthServiceApp = {
  database: Database;
  databaseUrl: string;
  secretKey: Buffer;
  clock: TestClock;
  service: AuthService;
  workspaceId: string;
  organizationId: string;
  routes: Route[];
  /** Where the server listens, or would. */
  url: string;
  admin: Person;
  /** Everything that was logged so far, at the lowest level. */
  logs(): string;
  /** As the bootstrap administrator, unless another is given. */
  call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    options?: CallOptions,
  ): Promise<Omit<Answer, "body"> & { body: Body }>;
  fetch(request: Request): Promise<Response>;
  addPerson(email: string, role?: "viewer" | "editor" | "admin"): Promise<Person>;
  /** The same service as another process would have it: its own connections, caches and listeners. */
  another(): Promise<AuthService & { close(): Promise<void> }>;
  serve(): Promise<void>;
  stop(): Promise<void>;
};

export type AuthServiceAppOptions = {
  allowPrivateAddresses?: boolean;
  agentAuthRequired?: boolean;
  oauthProvidersFile?: string;
  /** Run the job queue too. */
  jobs?: boolean;
};

/** Identity and the auth service over a database of their own; every answer is checked against its schema. */
export async function createAuthServiceApp(options: AuthServiceAppOptions = {}): Promise<AuthServiceApp> {
  const { database, url: databaseUrl, drop } = await createTestDatabase();
  const clock = createTestClock();
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const logger = createLogger({ level: "trace", destination });
  const secretKey = randomBytes(32);
  const secretBox = new SecretBox({ currentKey: secretKey });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const allowPrivateAddresses = options.allowPrivateAddresses ?? true;
  const build = (own: Database) =>
    createAuthService({
      database: own,
      secretBox,
      clock,
      logger,
      guard: new NetworkGuard({ allowPrivateAddresses }),
      publicUrl: () => url,
      config: {
        allowPrivateAddresses,
        oauthProvidersFile: options.oauthProvidersFile,
        oauthPlatformOrganization: undefined,
      },
    });

  const service = build(database);
  const workspaces = createWorkspaces({
    database,
    secretBox,
    clock,
    logger,
    onDeparture: (tx, departure) => service.leave(tx, departure),
  });
  const http = createHttpApp({
    routes: [...workspaces.routes, ...service.routes],
    authenticator: workspaces.authenticator,
    agentAuthRequired: options.agentAuthRequired ?? false,
    logger,
    metrics: new Metrics({ processMetrics: false }),
    corsOrigins: [],
    documents: [],
    validateResponses: true,
    aliases: { "/api-host": ["/v1", "/v2"] },
  });
  const bootstrapped = await workspaces.bootstrap({});
  await service.start();
  const jobs = new JobWorker({
    database,
    clock,
    logger,
    handlers: {
      ...service.jobHandlers,
      ...Object.fromEntries(service.recurringJobs.map((job) => [job.kind, job.handler])),
    },
  });
  if (options.jobs) await jobs.start();
  let server: RunningServer | undefined;
  const others: (() => Promise<void>)[] = [];
  const fetch = async (request: Request) => http.fetch(request);
  const admin = { key: bootstrapped.apiKey, userId: bootstrapped.userId };
  const call = (method: string, path: string, given: CallOptions = {}) =>
    callApp(fetch, method, path, { key: admin.key, tenant: bootstrapped.workspaceId, ...given });

  return {
    database,
    databaseUrl,
    secretKey,
    clock,
    service,
    workspaceId: bootstrapped.workspaceId,
    organizationId: bootstrapped.organizationId,
    routes: [...workspaces.routes, ...service.routes],
    url,
    admin,
    logs: () => lines.join(""),
    call: call as AuthServiceApp["call"],
    fetch,
    async addPerson(email, role = "editor") {
      const member = await call("POST", "/v2/members", { body: { email, role } });
      expect(member.status).toBe(201);
      const { user_id: userId } = member.body as { user_id: string };
      const created = await call("POST", "/v2/api-keys", { body: { name: email, role, user_id: userId } });
      expect(created.status).toBe(201);
      const { id, key } = created.body as { id: string; key: string };
      await makeOwn(database, id);
      return { key, userId };
    },
    async another() {
      const own = openDatabase({ url: databaseUrl, poolSize: 3, logger });
      const other = build(own);
      await other.start();
      const close = async () => {
        await other.stop();
        await own.close();
      };
      others.push(close);
      return { ...other, close };
    },
    async serve() {
      server ??= await listen(http, { host: "127.0.0.1", port, logger });
    },
    async stop() {
      await server?.close({ graceMs: 1_000 });
      for (const close of others) await close();
      await jobs.stop({ graceMs: 1_000 });
      await service.stop();
      await workspaces.stop();
      await drop();
    },
  };
}

/** Follows the provider's pages as a browser would, until it sends the person back. */
export async function giveConsent(consentUrl: string): Promise<URL> {
  let url = new URL(consentUrl);
  const origin = url.origin;
  const cookies = new Map<string, string>();
  for (let hop = 0; hop < 10; hop += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name!, value!);
    }
    const next = answer.headers.get("location");
    if (!next) throw new Error(`${url.pathname} answered ${answer.status}: ${await answer.text()}`);
    url = new URL(next, url);
    if (url.origin !== origin) return url;
  }
  throw new Error("the provider never sent the person back");
}

/** What the page of a consent leads to: the provider's address, for the one whose consent it is. */
export async function addressBehind(pageUrl: string, apiKey: string): Promise<string> {
  const asked = pageUrl.replace("/v2/auth/consent/", "/v2/auth/authorizations/");
  const answer = await fetch(asked, { headers: { "x-api-key": apiKey } });
  return ((await answer.json()) as { url: string }).url;
}

/** Asks the provider itself about a token. */
export async function introspect(server: OAuthServer, token: string): Promise<Record<string, unknown>> {
  const [client] = server.clients;
  const answer = await fetch(server.introspectionEndpoint, {
    method: "POST",
    headers: {
      authorization: `Basic ${Buffer.from(`${client!.clientId}:${client!.clientSecret}`).toString("base64")}`,
    },
    body: new URLSearchParams({ token }),
  });
  return (await answer.json()) as Record<string, unknown>;
}
