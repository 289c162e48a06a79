import { join } from "node:path";
import { compiledAgent } from "./compiled-agent.ts";
import { freePort } from "./components/free-port.ts";
import { type GitServer, startGitServer } from "./components/git-server.ts";
import type { TempFolder } from "./components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import type { PlaneCalls } from "./deployments.ts";
import { createDataParent, type RunningTreadle, startTreadle } from "./treadle.ts";

const apiKey = "the-key-of-the-platform";

/** A platform and the listeners of its workspace: real processes, each with its own database and data folder. */
export class ListenerSite {
  readonly databases: { platform: TestDatabase; place: TestDatabase };
  readonly git: GitServer;
  readonly url: string;
  readonly apiKey = apiKey;
  readonly #parent: TempFolder;
  readonly #compiled: string;
  readonly #running: RunningTreadle[] = [];
  platform: RunningTreadle | undefined;

  private constructor(ground: {
    databases: { platform: TestDatabase; place: TestDatabase };
    git: GitServer;
    parent: TempFolder;
    compiled: string;
    port: number;
  }) {
    this.databases = ground.databases;
    this.git = ground.git;
    this.url = `http://127.0.0.1:${ground.port}`;
    this.#parent = ground.parent;
    this.#compiled = ground.compiled;
  }

  static async prepare(): Promise<ListenerSite> {
    const [platform, place] = [await createTestDatabase(), await createTestDatabase()];
    const [git, parent, compiled, port] = await Promise.all([
      startGitServer(),
      createDataParent("listener"),
      compiledAgent(),
      freePort(),
    ]);
    const site = new ListenerSite({ databases: { platform, place }, git, parent, compiled, port });
    await site.startPlatform();
    return site;
  }

  async startPlatform(): Promise<void> {
    this.platform = await this.#start({
      args: ["--port", new URL(this.url).port, "--data-dir", join(this.#parent.path, "platform")],
      env: { DATABASE_URL: this.databases.platform.url, TREADLE_API_KEY: apiKey },
    });
  }

  /** `--port` is the same for one data folder, so that a listener that comes back has the same address. */
  async startListener(of: {
    id: string;
    key: string;
    port: number;
    folder?: string;
    databaseUrl?: string;
    args?: string[];
    /** Another way to the platform. */
    platformUrl?: string;
    env?: Record<string, string>;
  }): Promise<RunningTreadle> {
    const folder = join(this.#parent.path, of.folder ?? "place");
    const args = ["--port", String(of.port), "--data-dir", folder, ...(of.args ?? [])];
    return this.#start({
      args: [...args, "--platform", of.platformUrl ?? this.url, "--listener", of.id],
      command: "listener",
      env: {
        ...{ DATABASE_URL: of.databaseUrl ?? this.databases.place.url, TREADLE_PLATFORM_KEY: of.key },
        ...of.env,
      },
    });
  }

  /** As the administrator of the platform, or with another key. */
  async call<Body>(method: string, path: string, body?: unknown, key: string = apiKey) {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        ...{ "x-api-key": key, "content-type": "application/json" },
        ...(key === apiKey ? this.headers : {}),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: (text === "" ? null : JSON.parse(text)) as Body,
      code: response.headers.get("x-error-code"),
    };
  }

  /** The administrator's key opens several workspaces. */
  get headers(): Record<string, string> {
    return { "x-api-key": apiKey, "x-tenant-id": this.platform!.ready.workspace_id };
  }

  get calls(): PlaneCalls {
    return {
      call: <Body>(method: string, path: string, body?: unknown) => this.call<Body>(method, path, body),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((each) => each.stop()));
    await this.git.stop();
    await this.databases.platform.drop();
    await this.databases.place.drop();
    await this.#parent.remove();
  }

  async #start(of: { args: string[]; env: Record<string, string>; command?: "listener" }) {
    const env = {
      TREADLE_DATABASE_POOL: "4",
      TREADLE_AGENT_COMPILE_CACHE: this.#compiled,
      TREADLE_SHUTDOWN_GRACE_SECONDS: "5",
      // A server that is made to end is started again, and not taken for a bad revision.
      TREADLE_DEPLOY_ROLLBACK_SECONDS: "0",
      ...of.env,
    };
    const running = await startTreadle(of.args, { env, ...(of.command && { command: of.command }) });
    this.#running.push(running);
    return running;
  }
}
