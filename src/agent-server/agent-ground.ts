import { systemClock } from "../platform/clock.ts";
import { newId } from "../platform/ids.ts";
import { NetworkGuard } from "../platform/network/network-guard.ts";
import type { AgentServerOptions, ProjectOptions } from "./agent-server-options.ts";
import { DefaultAssistants } from "./assistants/default-assistants.ts";
import { CheckpointStore } from "./checkpoints/checkpoint-store.ts";
import { grownListsCode } from "./checkpoints/grown-lists.ts";
import { EventLog } from "./delivery/event-log.ts";
import { EventPruner } from "./delivery/event-pruner.ts";
import { ThreadFeed } from "./delivery/thread-feed.ts";
import { GraphRegistry } from "./graphs/graph-registry.ts";
import { ServerProcesses } from "./processes.ts";
import { createStore } from "./store/store.ts";
import { RunWebhooks } from "./webhooks/run-webhooks.ts";
import { defaultWebhookConfig } from "./webhooks/webhook-config.ts";

export type AgentGround = ReturnType<typeof createAgentGround>;

const defaultProject: ProjectOptions = {};
const defaultStreamKeepMs = 120_000;
const defaultProtocolEvents = 20_000;

/** What runs, threads and assistants stand on: the event log, checkpoints, the store and the graphs bound to them. */
export function createAgentGround(options: AgentServerOptions) {
  const { database, logger, clock = systemClock, project = defaultProject } = options;
  const processId = newId();
  const feed = new ThreadFeed(database, {
    ...(options.readerBytes === undefined ? {} : { readerBytes: options.readerBytes }),
    onReaderCut: () =>
      logger.warn("a stream reader was disconnected: it read nothing while others needed the memory"),
  });
  const events = new EventLog(database, feed);
  const pruner = new EventPruner({
    ...{ database, clock, logger },
    keepMs: options.streamKeepMs ?? defaultStreamKeepMs,
    protocolEvents: options.protocolEvents ?? defaultProtocolEvents,
  });
  const processes = new ServerProcesses({
    database,
    logger,
    processId,
    onChange: (count) => feed.setOthersListen(count > 1),
  });
  // In an upgrade servers of before may go on beside this one for a while.
  const checkpoints = new CheckpointStore(database, { mayAdd: () => processes.oldestCode >= grownListsCode });
  const defaults = new DefaultAssistants(database, options.graphs.allIds, project.defaultConfigs);
  const webhooks = new RunWebhooks({
    database,
    clock,
    logger,
    network: options.network ?? new NetworkGuard({ allowPrivateAddresses: false }),
    config: project.webhooks ?? defaultWebhookConfig,
    secret: options.webhookSecret,
    callProject: project.callProject,
  });
  const store = createStore({
    database,
    clock,
    logger,
    ...(project.storeIndex ? { index: project.storeIndex } : {}),
    ...(project.storeTtl ? { ttl: project.storeTtl } : {}),
  });
  const graphs = GraphRegistry.bind(options.graphs, {
    checkpoints,
    items: store.items,
    trace: options.trace,
    libraryTraces: options.libraryTracing !== undefined,
  });
  return {
    database,
    logger,
    clock,
    project,
    processId,
    feed,
    events,
    pruner,
    checkpoints,
    defaults,
    webhooks,
    store,
    graphs,
    processes,
  };
}
