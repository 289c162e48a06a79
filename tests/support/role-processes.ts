import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import pg from "pg";
import { compiledAgent } from "./compiled-agent.ts";
import { type DebianPostgres, startDebianPostgres } from "./components/debian-postgres.ts";
import { freePort } from "./components/free-port.ts";
import type { TempFolder } from "./components/temp-folder.ts";
import { createBucket } from "./exported-files.ts";
import type { CephRgw } from "./shared-ceph.ts";
import { createDataParent, type RunningTreadle, startTreadle } from "./treadle.ts";

export type RoleProcess = RunningTreadle & {
  url: string;
  client: Client;
  call<Body = unknown>(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: Body; headers: Headers }>;
  /** The same calls at another address, such as that of a proxy in front of it. */
  at(url: string): Pick<RoleProcess, "call">;
  /** The data of its events, one after the other, until the reader breaks off. */
  follow(path: string): AsyncGenerator<{ event: string; data: string }>;
};

const apiKey = "a-key-that-all-processes-share";

/** Real processes with roles, on one PostgreSQL of Debian and one bucket of Ceph. */
export class RoleProcesses {
  readonly #postgres: DebianPostgres;
  readonly rgw: CephRgw;
  readonly #parent: TempFolder;
  readonly #environment: Record<string, string>;
  readonly #running: RoleProcess[] = [];
  /** Where deployed servers reach an api: the first process with that role takes it. */
  readonly #internalPort: number;
  #isInternalTaken = false;

  private constructor(ground: {
    postgres: DebianPostgres;
    rgw: CephRgw;
    parent: TempFolder;
    port: number;
    environment: Record<string, string>;
  }) {
    this.#postgres = ground.postgres;
    this.rgw = ground.rgw;
    this.#parent = ground.parent;
    this.#internalPort = ground.port;
    this.#environment = ground.environment;
  }

  static async prepare(rgw: CephRgw, more: Record<string, string> = {}): Promise<RoleProcesses> {
    const [postgres, parent, port, compiled] = await Promise.all([
      startDebianPostgres({ settings: { max_connections: "300" } }),
      createDataParent("roles"),
      freePort(),
      compiledAgent(),
    ]);
    const bucket = `blobs-${randomUUID()}`;
    await createBucket(rgw, bucket);
    const address = `http://127.0.0.1:${port}`;
    const environment = {
      DATABASE_URL: postgres.url,
      TREADLE_DATABASE_POOL: "4",
      TREADLE_SECRET_KEY: "a-secret-that-all-processes-share",
      TREADLE_API_KEY: apiKey,
      TREADLE_PUBLIC_URL: address,
      TREADLE_INTERNAL_URL: address,
      TREADLE_BLOB_URL: `s3://${bucket}/treadle`,
      TREADLE_BLOB_ENDPOINT_URL: rgw.endpoint,
      TREADLE_BLOB_REGION: rgw.region,
      TREADLE_BLOB_ACCESS_KEY_ID: rgw.accessKey,
      TREADLE_BLOB_SECRET_ACCESS_KEY: rgw.secretKey,
      TREADLE_AGENT_COMPILE_CACHE: compiled,
      TREADLE_RUN_LEASE_SECONDS: "3",
      TREADLE_SHUTDOWN_GRACE_SECONDS: "5",
      ...more,
    };
    return new RoleProcesses({ postgres, rgw, parent, port, environment });
  }

  /** `folder`: the data folder, for one that comes after another. */
  async start(roles: string, folder = `${roles} ${randomUUID()}`): Promise<RoleProcess> {
    const isFirstApi = roles.split(",").includes("api") && !this.#isInternalTaken;
    if (isFirstApi) this.#isInternalTaken = true;
    const port = isFirstApi ? ["--port", String(this.#internalPort)] : [];
    const dataDir = join(this.#parent.path, folder);
    const running = await startTreadle(["--roles", roles, "--data-dir", dataDir, ...port], {
      env: this.#environment,
    });
    const process = asProcess(running);
    this.#running.push(process);
    return process;
  }

  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.#postgres.url });
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  get database(): Pick<DebianPostgres, "kill" | "restart"> {
    return this.#postgres;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((each) => each.stop()));
    await this.#postgres.stop();
    await this.#parent.remove();
  }
}

const headers = { "x-api-key": apiKey, "content-type": "application/json" };

function callsTo(url: string): Pick<RoleProcess, "call"> {
  return {
    async call<Body>(method: string, path: string, body?: unknown) {
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      const response = await fetch(`${url}${path}`, init);
      const text = await response.text();
      return {
        status: response.status,
        body: (text === "" ? null : JSON.parse(text)) as Body,
        headers: response.headers,
      };
    },
  };
}

function asProcess(running: RunningTreadle): RoleProcess {
  const url = `http://127.0.0.1:${running.ready.port}`;
  return {
    ...running,
    ...{ url, ...callsTo(url), at: callsTo },
    client: new Client({ apiUrl: url, apiKey, callerOptions: { maxRetries: 0 } }),
    async *follow(path) {
      const stop = new AbortController();
      const response = await fetch(`${url}${path}`, { headers, signal: stop.signal });
      if (!response.ok || !response.body) throw new Error(`${path} answered ${response.status}`);
      let text = "";
      try {
        for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
          text += part;
          const frames = text.split(/\r?\n\r?\n/);
          text = frames.pop()!;
          for (const frame of frames) {
            const event = /^event: ?(.*)$/m.exec(frame)?.[1];
            if (event !== undefined) yield { event, data: /^data: ?(.*)$/m.exec(frame)?.[1] ?? "" };
          }
        }
      } finally {
        stop.abort();
      }
    },
  };
}
