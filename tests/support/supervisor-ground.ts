import type { Instance } from "../../src/control-plane/runtimes/instance.ts";
import type { LaunchSpec } from "../../src/control-plane/runtimes/launch-spec.ts";
import { oneReplica, type StartSpec } from "../../src/control-plane/runtimes/runtime.ts";
import { Supervisor, type SupervisorOptions } from "../../src/control-plane/runtimes/supervisor.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { SecretBox } from "../../src/platform/encryption/secret-box.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createTempFolder, type TempFolder } from "./components/temp-folder.ts";
import { waitUntil } from "./components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { insertDeployment, insertRevision, insertWorkspace } from "./deployment-rows.ts";
import { ScriptedRuntime } from "./scripted-runtime.ts";

export const addresses = { database: "postgres://d", own: "http://own", traces: null };

const secretBox = new SecretBox({ currentKey: "the key of these tests" });
const anySpec: LaunchSpec = {
  ...{ deploymentId: "", workspaceId: "", revisionId: "", attempt: 1, folder: null },
  ...{ configPath: "langgraph.json", image: null, pinned: null, scale: oneReplica, addresses },
  ...{ resources: { memoryBytes: null, cpus: null }, tracingKeyId: null },
  environment: ({ port, instanceSecret }) => ({ PORT: String(port), SECRET: instanceSecret }),
  secrets: [],
};

type Opened = { supervisor: Supervisor; runtime: ScriptedRuntime; changes: string[] };

/** One deployment in a database, and supervisors whose servers do what a test says. */
export class SupervisorGround {
  readonly test: TestDatabase;
  readonly folder: TempFolder;
  readonly spec: LaunchSpec;

  private constructor(test: TestDatabase, folder: TempFolder, spec: LaunchSpec) {
    this.test = test;
    this.folder = folder;
    this.spec = spec;
  }

  static async create(): Promise<SupervisorGround> {
    const test = await createTestDatabase({ poolSize: 3 });
    const folder = await createTempFolder("supervisor");
    const { sql } = test.database;
    const workspaceId = await insertWorkspace(sql);
    const deploymentId = await insertDeployment(sql, workspaceId);
    const revisionId = await insertRevision(sql, { workspaceId, deploymentId });
    return new SupervisorGround(test, folder, { ...anySpec, deploymentId, revisionId });
  }

  async remove(): Promise<void> {
    await this.test.drop();
    await this.folder.remove();
  }

  open(
    fence: SupervisorOptions["fence"],
    runtime = new ScriptedRuntime(),
    more: Partial<SupervisorOptions> = {},
  ): Opened {
    const changes: string[] = [];
    const { database } = this.test;
    const supervisor = new Supervisor({
      ...{ database, clock: systemClock, logger: createLogger({ level: "silent" }), secretBox, fence },
      ...{ runtime, folder: this.folder.path, onChange: (id: string) => changes.push(id), ...more },
    });
    return { supervisor, runtime, changes };
  }

  async launch({ supervisor, runtime }: Opened): Promise<StartSpec> {
    await supervisor.launch(this.spec);
    return runtime.started.at(-1)!;
  }

  async newest(): Promise<Instance> {
    const { rows } = await raw<Instance>`select * from deployment_instances order by started_at desc, id desc
      limit 1`.execute(this.test.database.sql);
    return rows[0]!;
  }

  inState(id: string, state: string, timeoutMs: number): Promise<Instance> {
    const { sql } = this.test.database;
    return waitUntil(
      async () => {
        const { rows } = await raw<Instance>`select * from deployment_instances where id = ${id}`.execute(
          sql,
        );
        return rows[0]?.state === state ? rows[0] : undefined;
      },
      { what: `the server to be ${state}`, timeoutMs },
    );
  }
}
