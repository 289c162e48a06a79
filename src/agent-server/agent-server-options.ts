import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import type { Logger } from "../platform/logger.ts";
import type { NetworkGuard } from "../platform/network/network-guard.ts";
import type { CheckSettings } from "./assistants/assistant-service.ts";
import type { DefaultConfig } from "./assistants/default-assistants.ts";
import type { AgentGuard } from "./auth/agent-guard.ts";
import type { CronsOptions } from "./crons/crons.ts";
import type { AttemptTraces } from "./execution/attempt-traces.ts";
import type { FeedbackUrls } from "./execution/run-executor.ts";
import type { GraphRegistry } from "./graphs/graph-registry.ts";
import type { RuntimeGround } from "./graphs/graph-runtime.ts";
import type { LibraryTracing } from "./graphs/library-tracing.ts";
import type { TypeSchemas } from "./graphs/schema-catalog.ts";
import type { HeaderRule } from "./runs/caller-configurable.ts";
import type { StoreTtl } from "./store/item.ts";
import type { StoreIndex } from "./store/item-embedder.ts";
import type { ThreadTtl } from "./threads/thread.ts";
import type { UiBundles } from "./ui/ui-bundles.ts";
import type { RunWebhooksOptions } from "./webhooks/run-webhooks.ts";
import type { WebhookConfig } from "./webhooks/webhook-config.ts";

export type AgentServerOptions = {
  database: Database;
  logger: Logger;
  graphs: GraphRegistry;
  version: string;
  runConcurrency: number;
  runLeaseMs: number;
  runTimeoutMs: number;
  /** How much is buffered for all readers of streams together; beyond it, readers that do not read are disconnected. */
  readerBytes?: number;
  /** Where clients reach this server: by the headers of a request where these can be believed. */
  publicUrl(headers?: Headers): string;
  clock?: Clock;
  /** For requests whose target a caller chose; by default no private addresses. */
  network?: NetworkGuard;
  webhookSecret?: string | undefined;
  /** How long the stream of a run can be joined again after its end. */
  streamKeepMs?: number;
  /** Events of the streaming protocol a thread keeps. */
  protocolEvents?: number;
  /** Whether runs may still be started in the name of who made a cron; asked at each firing. */
  mayAct?: CronsOptions["mayAct"];
  /** Where the steps of runs are traced. Must neither wait nor throw. */
  trace?: RuntimeGround["trace"];
  /** Links for giving feedback on a run, by key. Without it, clients cannot request them. */
  feedbackUrls?: FeedbackUrls | undefined;
  /** Where runs are traced by the graph library instead. */
  libraryTracing?: LibraryTracing | undefined;
  /** Sends attempts to the tracing service when the graph library traces. */
  attemptTraces?: AttemptTraces | undefined;
  /** Throws where an assistant would have settings that its graph cannot use. */
  checkSettings?: CheckSettings;
  /** What a project's own file asks for; the built-in graphs have none. */
  project?: ProjectOptions;
};

export type ProjectOptions = {
  guard?: AgentGuard | undefined;
  webhooks?: WebhookConfig;
  /** Reaches the routes of the project's own application, and none of the server's. */
  callProject?: RunWebhooksOptions["callProject"];
  configurableHeaders?: HeaderRule | undefined;
  defaultConfigs?: Readonly<Record<string, DefaultConfig>>;
  threadTtl?: ThreadTtl | null;
  sweepIntervalMs?: number | undefined;
  sweepLimit?: number | undefined;
  storeIndex?: StoreIndex | undefined;
  storeTtl?: StoreTtl | undefined;
  /** Schemas read from TypeScript types, where a graph has none of its own. */
  typeSchemas?: TypeSchemas | undefined;
  /** Components for chat pages. */
  ui?: UiBundles | undefined;
  /** The project's folder, where a failed run may name a line of its code: beside its developer's studio. */
  placesIn?: string | undefined;
  /** The path the server is mounted at, for the addresses it returns. */
  mountPrefix?: string | undefined;
};
