import type { Worker } from "../platform/areas/area.ts";
import type { Authenticator } from "../platform/http/access/caller.ts";
import type { Route } from "../platform/http/route.ts";
import type { Services } from "./compose-services.ts";
import type { ControlPlaneOptions } from "./control-plane-options.ts";
import { ListenerLeases } from "./listener-api/lease-service.ts";
import { listenerApiRoutes } from "./listener-api/listener-api-routes.ts";
import { ListenerService } from "./listener-api/listener-service.ts";
import { ListenerReports } from "./listener-api/report-service.ts";
import { AcceptedCredentials } from "./mirror/accepted-credentials.ts";
import { Mirror } from "./mirror/mirror-service.ts";
import { MirrorWorker } from "./mirror/mirror-worker.ts";
import { PlatformClient } from "./mirror/platform-client.ts";
import { RemoteCallers } from "./mirror/remote-callers.ts";
import { RemoteKeys } from "./mirror/remote-keys.ts";
import { RemoteSources } from "./mirror/remote-sources.ts";
import { remoteTracing } from "./mirror/remote-tracing.ts";
import { Reporter } from "./mirror/reporter.ts";
import type { DeploymentTracing } from "./tracing/deployment-tracing.ts";

export type ListenerApi = { routes: Route[]; start(): Promise<void>; stop(): Promise<void> };

/** On the platform: what processes of listeners ask for and report. */
export function composeListenerApi(
  options: ControlPlaneOptions,
  { services, tracing }: { services: Services; tracing: DeploymentTracing },
): ListenerApi {
  const { database, clock, secretBox, blobs, recognise } = options;
  const leases = new ListenerLeases({ database, clock });
  const service = new ListenerService({
    ...{ database, clock, secretBox, leases, tracing, blobs, recognise },
    isCredential: (text) => options.isPlatformCredential(text),
    hasChosenKeys: () => options.hasChosenKeys(),
    sourceOf: (revision, signal) => services.sources.of(revision, signal),
  });
  const reports = new ListenerReports({ database, clock, leases });
  return {
    routes: listenerApiRoutes({ leases, service, reports }),
    start: () => service.start(),
    stop: () => service.stop(),
  };
}

export type Mirroring = {
  tracing: DeploymentTracing;
  sources: RemoteSources;
  callersBeside(local: Authenticator): Authenticator;
  isPlatformCredential(text: string): Promise<boolean>;
  worker(urlOf: (deployment: { slug: string }) => string): Worker;
};

/** In the process of a listener: what stands in for the platform's own desired state, sources, tracing and callers. */
export function composeMirroring(options: ControlPlaneOptions): Mirroring | null {
  const { database, clock, logger, secretBox, settings, runtime, publicUrl, listener } = options;
  if (!listener) return null;
  const { workspaceId, holder, version, takeOver } = listener;
  const client = new PlatformClient(listener.connection);
  const accepted = new AcceptedCredentials();
  const keys = new RemoteKeys({ client, accepted, isLocal: (text) => options.isPlatformCredential(text) });
  return {
    tracing: remoteTracing({ database, secretBox }, client.url),
    sources: new RemoteSources(client),
    callersBeside: (local) => new RemoteCallers({ local, client, workspaceId, accepted }),
    isPlatformCredential: (text) => keys.has(text),
    worker: (urlOf) =>
      new MirrorWorker({
        ...{ database, logger, client },
        mirror: new Mirror({
          ...{ database, clock, logger, secretBox, client, workspaceId },
          purgeAfterMs: settings.purgeAfterMs,
        }),
        reporter: new Reporter({ database, clock, client, urlOf }),
        introduce: () => ({
          ...{ holder, version, take_over: takeOver },
          place: listener.place(),
          runtime: runtime.name,
          url: publicUrl(),
        }),
      }),
  };
}
