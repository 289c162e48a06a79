import type { ControlPlaneOptions } from "./control-plane-options.ts";
import { wakeDeployment } from "./desired-state/sleep-store.ts";
import type { DomainTable } from "./domains/domain-table.ts";
import { instanceSecretContext } from "./encryption/sealed-columns.ts";
import type { DeploymentOrigins } from "./gateway/deployment-origins.ts";
import type { GatewayOptions } from "./gateway/gateway-listener.ts";
import { GatewayPresence } from "./gateway/gateway-presence.ts";
import { countHeld } from "./gateway/gateway-store.ts";
import { HeldRequests } from "./gateway/held-requests.ts";
import { RequestProxy } from "./gateway/proxy.ts";
import { Targets } from "./gateway/targets.ts";
import { Meter, type MeterOptions } from "./metrics/meter.ts";
import { EntryStates } from "./pages/entry-state.ts";
import { PageDoors } from "./pages/page-doors.ts";

export type Gateway = ReturnType<typeof composeGateway>;

/** The way to deployed servers: who serves what, who may enter, and what passed. */
export function composeGateway(
  options: ControlPlaneOptions,
  { origins, domains }: { origins: DeploymentOrigins; domains: DomainTable },
  usages: MeterOptions["usages"],
) {
  const { database, clock, logger, secretBox, passes, publicUrl } = options;
  const proxy = new RequestProxy();
  const presence = new GatewayPresence({
    ...{ database, logger },
    held: () => proxy.ways.held(),
    forget(deploymentIds) {
      if (deploymentIds === null) targets.forgetAll();
      else for (const id of deploymentIds) targets.forget(id);
    },
  });
  const targets = new Targets({
    database,
    openSecret: (id, sealed) => secretBox.open(sealed, instanceSecretContext(id)),
    isPresent: () => presence.isPresent(),
    enter: () => presence.enter(),
    onChange: (deploymentId) => held.notice(deploymentId),
  });
  const held = new HeldRequests({
    find: (slug) => targets.find(slug),
    async wake(deploymentId) {
      await wakeDeployment(database.sql, deploymentId, clock.now());
    },
  });
  const meter = new Meter({ database, clock, logger, usages });
  const states = new EntryStates({ secretBox, clock });
  const pages =
    passes && options.credentialsRequired
      ? new PageDoors({ passes, states, platformUrl: publicUrl })
      : undefined;
  const entrance: GatewayOptions = {
    ...{ targets, held, proxy, origins, pages },
    onServed: (...answer) => meter.served(...answer),
    audit: options.audit,
    authorize: options.authorize,
    isPlatformCredential: options.isPlatformCredential,
  };
  return {
    ...{ targets, meter, proxy, states, entrance, held },
    /** Active requests to instances, through every gateway. */
    async inFlight(instanceIds: readonly string[]): Promise<(instanceId: string) => number> {
      const others = await countHeld(database.sql, instanceIds, presence.id);
      return (id) => (others.get(id) ?? 0) + proxy.ways.inFlight(id);
    },
    async start() {
      await targets.start();
      await presence.start();
      await domains.start();
      meter.start();
    },
    async stop() {
      await meter.stop();
      await domains.stop();
      await targets.stop();
      await presence.stop();
      proxy.close();
    },
  };
}
