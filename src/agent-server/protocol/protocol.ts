import type { Database } from "../../platform/db/database.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { Authorize } from "../../platform/http/pipeline/authorize.ts";
import type { OnUpgrade } from "../../platform/http/server/server.ts";
import type { Logger } from "../../platform/logger.ts";
import type { AgentRoute } from "../auth/agent-route.ts";
import type { ThreadFeed } from "../delivery/thread-feed.ts";
import type { RunService } from "../runs/run-service.ts";
import type { StateService } from "../threads/state-service.ts";
import { EventReader } from "./event-reader.ts";
import { protocolRoutes } from "./protocol-routes.ts";
import { ProtocolService } from "./protocol-service.ts";
import { createProtocolSockets } from "./protocol-sockets.ts";
import { type CallerOf, RunCommands } from "./run-commands.ts";
import { StateCommands } from "./state-commands.ts";
import { ThreadAccess } from "./thread-access.ts";

export type ProtocolOptions = {
  database: Database;
  logger: Logger;
  feed: ThreadFeed;
  runs: RunService;
  states: StateService;
  callerOf: CallerOf;
  /** A project's own authorization of a WebSocket; routes are guarded by their path. */
  admit?(caller: Caller, threadId: string): Promise<Caller>;
};

export type Protocol = {
  routes: AgentRoute[];
  /** For `listen`: WebSockets do not pass through routes. */
  onUpgrade(authorize: Authorize): OnUpgrade;
};

/** The streaming protocol over HTTP and WebSocket. */
export function createProtocol(options: ProtocolOptions): Protocol {
  const { database, logger, feed, runs, states, callerOf } = options;
  const access = new ThreadAccess(database);
  const reader = new EventReader({ feed, access });
  const runCommands = new RunCommands({ runs, states, access });
  const stateCommands = new StateCommands(states);
  const service = new ProtocolService({ database, logger, access, runCommands, stateCommands });
  return {
    routes: protocolRoutes({ database, feed, service, reader, access, callerOf }),
    onUpgrade: createProtocolSockets({
      database,
      logger,
      service,
      reader,
      access,
      callerOf,
      ...(options.admit ? { admit: options.admit } : {}),
    }),
  };
}
