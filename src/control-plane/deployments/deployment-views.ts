import type { Clock } from "../../platform/clock.ts";
import type { Sql } from "../../platform/db/database.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { readRevisions } from "../desired-state/revision-store.ts";
import { readVerified } from "../domains/domain-store.ts";
import { absenceText } from "../listeners/listener.ts";
import { readListeners } from "../listeners/listener-store.ts";
import { readExits } from "../runtimes/exit-store.ts";
import type { DeploymentSecrets } from "./deployment-secrets.ts";
import type { DeploymentView } from "./deployment-wire.ts";
import { type Health, healthAway, healthOf } from "./health.ts";
import { readHealth } from "./health-store.ts";

export type DeploymentViewsOptions = {
  clock: Clock;
  secrets: DeploymentSecrets;
  /** The runtime of this platform, by its name. */
  runtimeName: string;
  urlOf(deployment: Pick<Deployment, "slug">): string;
  /** At an origin of its own; null where deployments have none. */
  pageUrlOf(deployment: Pick<Deployment, "slug">): string | null;
  urlOfDomain(domain: string): string;
};

/** Deployments with what is known of them elsewhere: the latest revision, their health, their addresses. */
export class DeploymentViews {
  readonly #options: DeploymentViewsOptions;

  constructor(options: DeploymentViewsOptions) {
    this.#options = options;
  }

  async one(sql: Sql, deployment: Deployment): Promise<DeploymentView> {
    return (await this.many(sql, [deployment]))[0]!;
  }

  async many(sql: Sql, deployments: Deployment[]): Promise<DeploymentView[]> {
    const ids = deployments.map((row) => row.latest_revision_id).filter((id) => id !== null);
    const latest = new Map((await readRevisions(sql, ids)).map((revision) => [revision.id, revision]));
    const rows = await readHealth(
      sql,
      deployments.map((row) => row.id),
    );
    const active = deployments.map((row) => row.active_revision_id).filter((id) => id !== null);
    const exits = await readExits(sql, active, this.#options.clock.now());
    const activeOf = new Map(deployments.map((row) => [row.id, row.active_revision_id ?? ""]));
    const health = new Map(
      rows.map((row) => [row.deployment_id, healthOf(row, exits.get(activeOf.get(row.deployment_id) ?? ""))]),
    );
    const listeners = await readListeners(
      sql,
      deployments.map((row) => row.source_config.listener_id).filter((id) => id !== null),
    );
    const now = this.#options.clock.now();
    const listenerOf = ({ source_config: { listener_id: wanted } }: Deployment) =>
      listeners.find(({ id }) => id === wanted);
    const absenceOf = (deployment: Deployment, told: Health): Health => {
      const listener = listenerOf(deployment);
      const absence = listener && absenceText(listener, now);
      return absence ? healthAway(told, absence, listener.seen_at) : told;
    };
    const domains = await readVerified(
      sql,
      deployments.map((row) => row.id),
    );
    return deployments.map((deployment) => ({
      deployment,
      latest: latest.get(deployment.latest_revision_id ?? ""),
      secrets: this.#options.secrets.open(deployment),
      url: deployment.remote_url ?? this.#options.urlOf(deployment),
      runsOn:
        deployment.source_config.listener_id === null
          ? { kind: this.#options.runtimeName, name: null }
          : { kind: "listener", name: listenerOf(deployment)?.compute_id ?? null },
      pageUrl: deployment.source_config.listener_id === null ? this.#options.pageUrlOf(deployment) : null,
      domainUrls: (domains.get(deployment.id) ?? []).map((domain) => this.#options.urlOfDomain(domain)),
      health: absenceOf(deployment, health.get(deployment.id) ?? healthOf(undefined)),
    }));
  }
}
