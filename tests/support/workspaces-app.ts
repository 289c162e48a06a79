import { randomBytes } from "node:crypto";
import type { Clock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { SecretBox } from "../../src/platform/encryption/secret-box.ts";
import { createHttpApp } from "../../src/platform/http/pipeline/http-app.ts";
import type { Route } from "../../src/platform/http/route.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { Metrics } from "../../src/platform/metrics.ts";
import type { Bootstrapped } from "../../src/workspaces/installation/bootstrap.ts";
import {
  createWorkspaces,
  type Workspaces,
  type WorkspacesOptions,
} from "../../src/workspaces/workspaces.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";

/** A clock that moves when a test moves it. */
export type TestClock = Clock & { advance(ms: number): void };

export function createTestClock(start = new Date()): TestClock {
  let current = start.getTime();
  return {
    now: () => new Date(current),
    advance(ms) {
      current += ms;
    },
  };
}

export type Answer = { status: number; body: unknown; headers: Headers };
export type CallOptions = {
  key?: string;
  bearer?: string;
  tenant?: string;
  body?: unknown;
  headers?: Record<string, string>;
};

export type WorkspacesApp = Bootstrapped & { apiKey: string } & {
  database: Database;
  clock: TestClock;
  workspaces: Workspaces;
  routes: Route[];
  fetch(request: Request): Promise<Response>;
  /** As the bootstrap administrator in the bootstrap workspace, unless another is given. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Another process on the same database. */
  another(options?: Pick<WorkspacesOptions, "beforeWorkspaceDelete" | "audit">): {
    workspaces: Workspaces;
    fetch(request: Request): Promise<Response>;
  };
  stop(): Promise<void>;
};

/** The identity routes over a database of their own; every answer is checked against its published schema. */
export async function createWorkspacesApp(
  options: {
    routes?: Route[];
    agentAuthRequired?: boolean;
    /** One the test file shares among its tests: it is emptied first and not dropped. */
    testDatabase?: TestDatabase;
  } = {},
): Promise<WorkspacesApp> {
  const { database, drop } = options.testDatabase
    ? { database: options.testDatabase.database, drop: async () => {} }
    : await createTestDatabase();
  if (options.testDatabase) {
    await raw`truncate organizations, signing_keys, install_secrets cascade`.execute(database.sql);
  }
  const clock = createTestClock();
  const logger = createLogger({ level: "silent" });
  const secretBox = new SecretBox({ currentKey: randomBytes(32) });
  const opened: Workspaces[] = [];

  const another: WorkspacesApp["another"] = (more = {}) => {
    const workspaces = createWorkspaces({ database, secretBox, clock, logger, ...more });
    opened.push(workspaces);
    const app = createHttpApp({
      routes: [...workspaces.routes, ...(options.routes ?? [])],
      authenticator: workspaces.authenticator,
      agentAuthRequired: options.agentAuthRequired ?? false,
      audit: workspaces.audit,
      logger,
      metrics: new Metrics({ processMetrics: false }),
      corsOrigins: [],
      documents: [],
      validateResponses: true,
    });
    return { workspaces, fetch: async (request) => app.fetch(request) };
  };

  const { workspaces, fetch } = another();
  const bootstrapped = await workspaces.bootstrap({});
  return {
    ...bootstrapped,
    database,
    clock,
    workspaces,
    routes: [...workspaces.routes, ...(options.routes ?? [])],
    fetch,
    another,
    call: (method, path, call = {}) =>
      callApp(fetch, method, path, {
        ...(call.bearer === undefined ? { key: bootstrapped.apiKey, tenant: bootstrapped.workspaceId } : {}),
        ...call,
      }),
    stop: async () => {
      for (const each of opened) await each.stop();
      await drop();
    },
  };
}

export async function callApp(
  fetch: (request: Request) => Promise<Response>,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  const headers = new Headers(options.headers);
  if (options.key !== undefined) headers.set("x-api-key", options.key);
  if (options.bearer !== undefined) headers.set("authorization", `Bearer ${options.bearer}`);
  if (options.tenant !== undefined) headers.set("x-tenant-id", options.tenant);
  const init: RequestInit = { method, headers };
  if (options.body !== undefined) {
    headers.set("content-type", "application/json");
    init.body = JSON.stringify(options.body);
  }
  const response = await fetch(new Request(`http://127.0.0.1${path}`, init));
  const text = await response.text();
  return {
    status: response.status,
    body: text === "" ? undefined : JSON.parse(text),
    headers: response.headers,
  };
}
