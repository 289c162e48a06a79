import { fork } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type AuthService, createAuthService } from "../src/auth-service/auth-service.ts";
import { systemClock } from "../src/platform/clock.ts";
import { openDatabase } from "../src/platform/db/connection/open-database.ts";
import { startEmbeddedPostgres } from "../src/platform/db/embedded/embedded-postgres.ts";
import { migrate } from "../src/platform/db/schema/migrate.ts";
import { SecretBox } from "../src/platform/encryption/secret-box.ts";
import { createHttpApp } from "../src/platform/http/pipeline/http-app.ts";
import { listen } from "../src/platform/http/server/server.ts";
import { createLogger } from "../src/platform/logger.ts";
import { Metrics } from "../src/platform/metrics.ts";
import { NetworkGuard } from "../src/platform/network/network-guard.ts";
import { createWorkspaces } from "../src/workspaces/workspaces.ts";
import { load } from "./load.ts";

/**
 * How many token reads a second does one server answer, what of that is the audit log's, and are 1,000 tokens that end in the same minute
 * refreshed once each by two processes at once while readers ask for them?
 *   node bench/auth-service.ts
 */
const seconds = Number(process.env.BENCH_SECONDS ?? 4);
const expiring = 1_000;
/** Of each measurement; the median counts. */
const turns = 3;
const apiKey = "bench-key-of-sixteen-or-more";
const workspaceId = "0192f0a0-0000-7000-8000-000000000001";
const logger = createLogger({ level: "error" });

export type Result = { question: string; value: string };
type Ready = { port: number };

/** One process of the platform, as far as tokens are concerned. */
async function serve(url: string, isAudited: boolean): Promise<void> {
  const database = openDatabase({ url, poolSize: 10, logger });
  const ground = { database, clock: systemClock, logger, secretBox: new SecretBox({ currentKey: apiKey }) };
  const workspaces = createWorkspaces(ground);
  const service: AuthService = createAuthService({
    ...ground,
    guard: new NetworkGuard({ allowPrivateAddresses: true }),
    publicUrl: () => "http://127.0.0.1",
    config: {
      allowPrivateAddresses: true,
      oauthProvidersFile: undefined,
      oauthPlatformOrganization: undefined,
    },
  });
  const app = createHttpApp({
    routes: [...workspaces.routes, ...service.routes],
    authenticator: workspaces.authenticator,
    agentAuthRequired: true,
    ...(isAudited ? { audit: workspaces.audit } : {}),
    logger,
    metrics: new Metrics({ processMetrics: false }),
    corsOrigins: [],
    documents: [],
    validateResponses: false,
  });
  await workspaces.bootstrap({ apiKey, workspaceId });
  await service.start();
  const server = await listen(app, { host: "127.0.0.1", port: 0, logger });
  process.on("message", (order) => {
    if (order !== "refresh") return;
    service.refreshDueTokens(AbortSignal.timeout(120_000)).then((count) => process.send?.({ count }));
  });
  process.on("disconnect", () => process.exit(0));
  process.send?.({ port: server.port } satisfies Ready);
}

/** A token endpoint that rotates, and counts every use of every refresh token. */
async function startProvider() {
  const uses = new Map<string, number>();
  const server = http.createServer((request, response) => {
    text(request).then((body) => {
      const token = new URLSearchParams(body).get("refresh_token") ?? "";
      uses.set(token, (uses.get(token) ?? 0) + 1);
      const answer = {
        access_token: `a-${token}`,
        token_type: "bearer",
        expires_in: 3600,
        refresh_token: `${token}+`,
      };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    }, response.destroy);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, uses, stop: () => server.close() };
}

function client(port: number, sockets: number) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: sockets });
  const call = async (path: string, body: unknown): Promise<Record<string, unknown>> => {
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
    const headers = { "content-type": "application/json", "x-api-key": apiKey };
    const request = http.request({ agent, port, host: "127.0.0.1", path, method: "POST", headers }, resolve);
    request.on("error", reject).end(JSON.stringify(body));
    const response = await promise;
    const answer = await text(response);
    if (response.statusCode !== 200)
      throw new Error(`${path}: ${response.statusCode} ${answer.slice(0, 200)}`);
    return JSON.parse(answer) as Record<string, unknown>;
  };
  return { call, close: () => agent.destroy() };
}

async function startProcess(url: string, log: "audited" | "bare" = "audited") {
  const child = fork(fileURLToPath(import.meta.url), ["--serve", url, log]);
  const [ready] = (await once(child, "message")) as [Ready];
  return {
    port: ready.port,
    refresh: async () => {
      child.send("refresh");
      const [answer] = (await once(child, "message")) as [{ count: number }];
      return answer.count;
    },
    stop: async () => {
      const exited = once(child, "exit");
      child.disconnect();
      await exited;
    },
  };
}

export async function run(options: { url: string }): Promise<Result[]> {
  const provider = await startProvider();
  const first = await startProcess(options.url);
  const second = await startProcess(options.url);
  const bare = await startProcess(options.url, "bare");
  const database = openDatabase({ url: options.url, poolSize: 2, logger });
  const api = client(first.port, 32);
  const bareApi = client(bare.port, 32);
  try {
    await api.call("/v2/auth/providers", {
      provider_id: "bench",
      name: "Bench",
      client_id: "id",
      client_secret: "secret",
      auth_url: `${provider.url}/authorize`,
      token_url: `${provider.url}/token`,
    });
    const importOne = (agent: number) =>
      api.call(`/v2/auth/agents/agent-${agent}/providers/bench/tokens`, {
        access_token: `value-${agent}`,
        refresh_token: `refresh-${agent}`,
        expires_in_seconds: 3600,
      });
    const read = (agent: number, from = api) =>
      from.call("/v2/auth/authenticate", { provider: "bench", scopes: [], agent_id: `agent-${agent}` });
    const queue = Array.from({ length: expiring }, (_, agent) => agent).values();
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (const agent of queue) await importOne(agent);
      }),
    );
    await database.query({ name: "bench_analyze_v1", text: "analyze auth_tokens, auth_connections" }, []);
    const results: Result[] = [];
    for (const clients of [1, 32]) {
      let next = 0;
      const requestOf = (from: typeof api) => async () => {
        next = (next + 1) % expiring;
        const agent = next;
        const answer = await read(agent, from);
        if (answer.token !== `value-${agent}`) throw new Error(`agent-${agent} got another token`);
      };
      // By turns, so that what else the machine does falls on both.
      const measured = { "with the audit log": api, "without it": bareApi };
      const found: Record<string, Awaited<ReturnType<typeof load>>[]> = {};
      for (let turn = 0; turn < turns; turn++) {
        for (const [name, from] of Object.entries(measured)) {
          const request = requestOf(from);
          await load({ clients, seconds: 1, request });
          found[name] = [...(found[name] ?? []), await load({ clients, seconds, request })];
        }
      }
      for (const [name, all] of Object.entries(found)) {
        const result = all.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(turns / 2)]!;
        results.push({
          question: `warm token reads over HTTP, ${clients} at once, ${expiring} tokens, ${name}`,
          value: `${Math.round(result.perSecond)}/s, p50 ${result.p50Ms.toFixed(2)} ms, p99 ${result.p99Ms.toFixed(1)} ms, ${result.errors} errors`,
        });
      }
    }
    const expire = `update auth_tokens set expires_at = now() + interval '30 seconds', stale_at = now(), refresh_at = now()`;
    await database.query({ name: "bench_expire_v1", text: expire }, []);
    const start = performance.now();
    let reading = true;
    let reads = 0;
    const readers = Array.from({ length: 4 }, async (_, reader) => {
      for (let agent = reader; reading; agent += 7) {
        await read(agent % expiring);
        reads += 1;
      }
    });
    await Promise.all([first.refresh(), second.refresh()]);
    const tookMs = performance.now() - start;
    reading = false;
    await Promise.all(readers);
    const originals = [...provider.uses].filter(([token]) => /^refresh-\d+$/.test(token));
    const again =
      [...provider.uses.values()].filter((count) => count > 1).length +
      (provider.uses.size - originals.length);
    results.push({
      question: `${expiring} tokens that end together, two processes and 4 readers (${reads} reads)`,
      value: `${originals.length} refreshed in ${(tookMs / 1000).toFixed(1)} s, ${again} a second time`,
    });
    return results;
  } finally {
    api.close();
    bareApi.close();
    await bare.stop();
    await database.close();
    await first.stop();
    await second.stop();
    provider.stop();
  }
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-"));
  await chmod(folder, 0o711);
  const server = await startEmbeddedPostgres({ dataDir: folder, logger });
  try {
    const directory = fileURLToPath(new URL("../migrations", import.meta.url));
    await migrate({ url: server.url, directory, logger });
    for (const { question, value } of await run({ url: server.url })) console.log(`${question}: ${value}`);
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  if (process.argv[2] === "--serve") await serve(process.argv[3]!, process.argv[4] === "audited");
  else await main();
}
