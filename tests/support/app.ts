import { randomBytes, randomUUID } from "node:crypto";
import { type App, createApp, type Started } from "../../src/app/platform.ts";
import { type Config, readConfig } from "../../src/config/index.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { createLogger, type Logger } from "../../src/platform/logger.ts";
import { createTempFolder } from "./components/temp-folder.ts";
import { createTestDatabase } from "./database.ts";
import { testEngineSettings } from "./trace-engine.ts";

export type TestAnswer<Body = unknown> = { status: number; body: Body; headers: Headers };
export type TestCall = {
  body?: unknown;
  headers?: Record<string, string>;
  /** Sent as it is, instead of `body`. */
  text?: string;
};

export type TestApp = {
  app: App;
  database: Database;
  apiKey: string;
  workspaceId: string;
  /** In process, as the bootstrap administrator unless the request brings credentials of its own. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** `fetch` for JSON: the parsed body, undefined when there is none. */
  call<Body = unknown>(method: string, path: string, options?: TestCall): Promise<TestAnswer<Body>>;
  /** Serves on a free loopback port, once; for the real clients. */
  listen(): Promise<string>;
  /** The same, with all that a start returns. */
  started(): Promise<Started>;
  stop(): Promise<void>;
};

/**
 * The whole application over a database of its own, nothing replaced: every answer is checked against its
 * published schema. Make one per test file in `beforeAll`, stop it in `afterAll`.
 */
export async function createTestApp(
  overrides: Partial<Config> = {},
  options: { clock?: Clock; logger?: Logger; consoleFolder?: string } = {},
): Promise<TestApp> {
  const { database, url: databaseUrl, drop } = await createTestDatabase({ poolSize: 3 });
  const folder = await createTempFolder("app");
  const apiKey = `test-key-${randomBytes(16).toString("hex")}`;
  const workspaceId = randomUUID();
  const config: Config = {
    // Where nothing listens: no test asks a DNS server outside of this machine.
    ...readConfig({ TREADLE_DNS_SERVERS: "127.0.0.1:9" }),
    host: "127.0.0.1",
    port: 0,
    dataDir: folder.path,
    databaseUrl,
    apiKey,
    workspaceId,
    logLevel: "silent",
    shutdownGraceMs: 5_000,
    validateResponses: true,
    clickHouse: await testEngineSettings(),
    ...overrides,
  };
  const app = await createApp(config, { logger: createLogger({ level: config.logLevel }), ...options });
  await app.prepare();
  let listening: Promise<Started> | undefined;
  const started = () => {
    listening ??= app.start();
    return listening;
  };

  const fetch: TestApp["fetch"] = async (path, init = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has("x-api-key") && !headers.has("authorization"))
      headers.set("x-api-key", config.apiKey ?? apiKey);
    return app.fetch(new Request(new URL(path, "http://127.0.0.1"), { ...init, headers }));
  };

  return {
    app,
    database,
    apiKey: config.apiKey ?? apiKey,
    workspaceId: config.workspaceId ?? workspaceId,
    fetch,
    async call<Body>(method: string, path: string, { body, text, headers }: TestCall = {}) {
      const content = text ?? (body === undefined ? undefined : JSON.stringify(body));
      const response = await fetch(path, {
        method,
        headers: { ...(content === undefined ? {} : { "content-type": "application/json" }), ...headers },
        ...(content === undefined ? {} : { body: content }),
      });
      const answer = await response.text();
      return {
        status: response.status,
        body: (answer === "" ? undefined : JSON.parse(answer)) as Body,
        headers: response.headers,
      };
    },
    started,
    listen: async () => (await started()).url,
    async stop() {
      await app.stop();
      await drop();
      await folder.remove();
    },
  };
}
