import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { type MonotonicClock, monotonicClock } from "../../platform/monotonic-clock.ts";
import { WakeLoop } from "../../platform/work/wake-loop.ts";
import { Turns } from "../builds/turns.ts";
import { isLeaseOver, type ReconcileFence } from "../desired-state/reconcile-fence.ts";
import { instanceSecretContext } from "../encryption/sealed-columns.ts";
import { countHeldByEndpoint } from "../gateway/gateway-store.ts";
import { insertLogs } from "../logs/log-store.ts";
import { resourcesOf, scaleOf } from "../runtimes/agent-environment.ts";
import type { Runtime } from "../runtimes/runtime.ts";
import type { Supervisor } from "../runtimes/supervisor.ts";
import { askUsage } from "../runtimes/usage-report.ts";
import { type Heard, ReplicaLoads } from "./replica-loads.ts";
import { chooseReplicas, type Need, neededReplicas, recentNeeds } from "./scaling-rule.ts";
import { listScalable, type Scalable } from "./scaling-store.ts";

export type AutoscalerOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  runtime: Pick<Runtime, "name" | "replicas">;
  supervisor: Pick<Supervisor, "scale">;
  fence: Pick<ReconcileFence, "write">;
  defaultMemoryBytes: number | null;
  /** Replicas go when they were not needed for so long. */
  keepMs: number;
  /** How often servers are asked. */
  everyMs?: number;
  monotonic?: MonotonicClock;
};

/** What is remembered of one server between two looks; after a restart of the platform it begins with what there is. */
type Memory = { needs: Need[]; loads: ReplicaLoads };

const serversAtOnce = 8;

/** Changes the number of replicas with the load. Runs in the process that has the lease on deployments. */
export class Autoscaler {
  readonly #options: AutoscalerOptions;
  readonly #monotonic: MonotonicClock;
  readonly #memories = new Map<string, Memory>();
  #loop: WakeLoop | undefined;
  #stop = new AbortController();

  constructor(options: AutoscalerOptions) {
    this.#options = options;
    this.#monotonic = options.monotonic ?? monotonicClock;
  }

  /** Nothing is scaled where the runtime has one replica for each server. */
  start(): void {
    const { runtime, logger, everyMs = 5_000 } = this.#options;
    if (!runtime.replicas) return;
    this.#stop = new AbortController();
    this.#loop = new WakeLoop({
      rules: { heartbeatMs: 60_000 },
      look: async () => ((await this.#look()) ? everyMs : null),
      onFailure: (error) =>
        logger.warn({ reason: errorMessage(error) }, "replicas cannot be counted; trying again"),
    });
    this.#loop.wake();
  }

  /** A server became ready, or ended. */
  wake(): void {
    this.#loop?.wake();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    const loop = this.#loop;
    this.#loop = undefined;
    await loop?.stop();
    this.#memories.clear();
  }

  /** False when there is nothing to scale. */
  async #look(): Promise<boolean> {
    const { database, runtime } = this.#options;
    const servers = await listScalable(database.sql, runtime.name);
    const ids = new Set(servers.map(({ id }) => id));
    for (const id of this.#memories.keys()) if (!ids.has(id)) this.#memories.delete(id);
    const turns = new Turns(serversAtOnce);
    await Promise.all(servers.map((server) => this.#scaleInTurn(server, turns)));
    return servers.length > 0;
  }

  /** What goes wrong with one server does not keep the others from being looked at. */
  async #scaleInTurn(server: Scalable, turns: Turns): Promise<void> {
    const { logger } = this.#options;
    try {
      await turns.run(this.#stop.signal, () => this.#scaleOne(server));
    } catch (error) {
      if (this.#stop.signal.aborted || isLeaseOver(error)) return;
      const facts = { deployment: server.deployment_id, reason: errorMessage(error) };
      logger.warn(facts, "a server could not be scaled; trying again");
    }
  }

  async #scaleOne(server: Scalable): Promise<void> {
    const { runtime, supervisor, defaultMemoryBytes, keepMs } = this.#options;
    const current = runtime.replicas!(server.handle);
    // Not known yet, or it is being stopped.
    if (!current) return;
    const heard = await this.#ask(server);
    const nowMs = this.#monotonic.now();
    const memory = this.#memories.get(server.id) ?? {
      needs: [{ atMs: nowMs, replicas: current }],
      loads: new ReplicaLoads(),
    };
    this.#memories.set(server.id, memory);
    const limits = resourcesOf(server.resource_spec, defaultMemoryBytes);
    const pending = [...heard.values()].flatMap((said) => said?.report.pendingRuns ?? []);
    const pendingRuns = pending.length === 0 ? null : Math.max(...pending);
    const replicas = memory.loads.read(heard);
    const needed = neededReplicas({ replicas, pendingRuns, limits }, current);
    memory.needs = recentNeeds([...memory.needs, { atMs: nowMs, replicas: needed }], nowMs, keepMs);
    const target = chooseReplicas(memory.needs, scaleOf(server.resource_spec));
    if (target === current) return;
    const busy = target < current ? await this.#countWork(server, heard) : new Map<string, number>();
    if (await supervisor.scale(server.id, target, busy))
      await this.#note(server, scaledText(current, target, pendingRuns));
  }

  async #ask({ id, endpoints, secret_sealed: sealed }: Scalable): Promise<Map<string, Heard>> {
    const secret = sealed && this.#options.secretBox.open(sealed, instanceSecretContext(id));
    const asked = endpoints.map(async (endpoint) => {
      const report = await askUsage({ ...endpoint, secret }, { withRuns: true }, this.#stop.signal);
      const heard = report && { report, atMs: this.#monotonic.now() };
      return [endpoint.name, heard] as const;
    });
    return new Map(await Promise.all(asked));
  }

  /** Runs and requests of each replica: the idle ones go first. */
  async #countWork({ id }: Scalable, replicas: ReadonlyMap<string, Heard>) {
    const held = await countHeldByEndpoint(this.#options.database.sql, id);
    const work = [...replicas].map(
      ([name, said]) => [name, (said?.report.runningRuns ?? 1) + (held.get(name) ?? 0)] as const,
    );
    return new Map(work);
  }

  async #note({ deployment_id, revision_id }: Scalable, message: string): Promise<void> {
    const { fence, clock, logger } = this.#options;
    logger.info({ deployment: deployment_id }, message);
    const place = { deploymentId: deployment_id, revisionId: revision_id, kind: "deploy" } as const;
    const line = { at: clock.now(), level: "INFO" as const, message };
    await fence.write((tx) => insertLogs(tx, place, [line]));
  }
}

function scaledText(from: number, to: number, pendingRuns: number | null): string {
  const waiting = to > from && pendingRuns ? ` ${pendingRuns} runs wait.` : "";
  return `Scaled from ${from} to ${to} ${to === 1 ? "replica" : "replicas"}.${waiting}`;
}
