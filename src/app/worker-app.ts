import type { Config } from "../config/index.ts";
import type { Stopped } from "../platform/areas/area.ts";
import { openSecretBox } from "../platform/encryption/encryption-keys.ts";
import type { Logger } from "../platform/logger.ts";
import type { MetricFigures, Metrics } from "../platform/metrics.ts";
import { composeWorker } from "./compose-worker.ts";
import { openGround } from "./ground.ts";
import { Lifecycle } from "./lifecycle.ts";
import { openClickHouse } from "./open-clickhouse.ts";
import { planRoles } from "./roles.ts";

export type WorkerAppOptions = { config: Config; publicUrl: string; logger: Logger };

/** What runs in a worker process. It listens nowhere, so it holds no route's server, no gateway and no runtime of deployments. */
export class WorkerApp {
  readonly #options: WorkerAppOptions;
  readonly #life = new Lifecycle();
  #metrics: Metrics | undefined;
  #processId: string | undefined;

  constructor(options: WorkerAppOptions) {
    this.#options = options;
  }

  /** Under which it leases runs, once it has started. */
  get processId(): string {
    if (this.#processId === undefined) throw new Error("The worker was asked for its id before it started.");
    return this.#processId;
  }

  /** Opens the database, builds the areas and takes work from then on. */
  async start(): Promise<void> {
    const { config, publicUrl, logger } = this.#options;
    const life = this.#life;
    const { dataDir, secretKey, roles, shutdownGraceMs: graceMs } = config;
    const { database, databaseUrl, clock } = await openGround({ ...config, logger, life });
    const plan = planRoles(roles);
    const engine = { database, logger, life, isNeeded: plan.usesRuns };
    const { clickHouse } = await openClickHouse(config.clickHouse, engine);
    const box = await openSecretBox({ dataDir, secretKey, database, logger });
    life.onClose(() => box.stop());
    const { areas, workers, metrics, processId } = await composeWorker({
      ...{ config, plan, database, databaseUrl, clickHouse, clock, logger },
      secretBox: box.secretBox,
      publicUrl: () => publicUrl,
    });
    this.#metrics = metrics;
    this.#processId = processId;
    await life.startAreas(areas, { graceMs });
    await life.startWorkers(workers);
    life.started();
  }

  /** Lets its work finish within the grace; names what it had to interrupt. */
  stop({ graceMs }: { graceMs: number }): Promise<Stopped> {
    return this.#life.stop({ graceMs });
  }

  async figures(): Promise<MetricFigures> {
    return (await this.#metrics?.figures()) ?? [];
  }
}
