import { tracingPort } from "../../src/app/compose-control-plane.ts";
import { type AuthServiceOptions, createAuthService } from "../../src/auth-service/auth-service.ts";
import { readConfig } from "../../src/config/index.ts";
import { createTraces } from "../../src/traces/traces.ts";
import type { Workspaces } from "../../src/workspaces/workspaces.ts";

type Ground = Pick<AuthServiceOptions, "database" | "secretBox" | "clock" | "logger" | "guard"> & {
  workspaces: Workspaces;
  url(): string;
};

/** What the platform has beside its control plane and a deployment could misuse: traces and people's accounts. */
export function createOtherAreas({ workspaces, url, ...ground }: Ground) {
  const traces = createTraces({ ...ground, seal: ground.secretBox });
  const accounts = createAuthService({ ...ground, publicUrl: url, config: readConfig({}) });
  return {
    routes: [...traces.routes, ...accounts.routes],
    tracing: tracingPort({
      internalUrl: url,
      keys: workspaces.platformKeys,
      projects: () => traces.projects,
    }),
    async start() {
      await traces.start();
      await accounts.start();
    },
    async stop() {
      await accounts.stop();
      await traces.stop();
    },
  };
}
