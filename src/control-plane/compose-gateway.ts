import type { ControlPlaneOptions } from "./control-plane-options.ts";
import type { DomainTable } from "./domains/domain-table.ts";
import { instanceSecretContext } from "./encryption/sealed-columns.ts";
import type { DeploymentOrigins } from "./gateway/deployment-origins.ts";
import type { GatewayOptions } from "./gateway/gateway-listener.ts";
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
  const targets = new Targets({
    database,
    openSecret: (id, sealed) => secretBox.open(sealed, instanceSecretContext(id)),
  });
  const meter = new Meter({ database, clock, logger, usages });
  const proxy = new RequestProxy();
  const states = new EntryStates({ secretBox, clock });
  const pages =
    passes && options.credentialsRequired
      ? new PageDoors({ passes, states, platformUrl: publicUrl })
      : undefined;
  const entrance: GatewayOptions = {
    ...{ targets, proxy, origins, pages },
    onServed: (...answer) => meter.served(...answer),
    audit: options.audit,
    authorize: options.authorize,
    isPlatformCredential: options.isPlatformCredential,
  };
  return {
    ...{ targets, meter, proxy, states, entrance },
    inFlight: (instanceId: string) => proxy.inFlight(instanceId),
    async start() {
      await targets.start();
      await domains.start();
      meter.start();
    },
    async stop() {
      await meter.stop();
      await domains.stop();
      await targets.stop();
      proxy.close();
    },
  };
}
