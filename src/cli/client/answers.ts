import { z } from "zod";
import type * as wire from "../../../openapi/wire.d.ts";

/** Names that the answer has, each with a schema that accepts every value the server may send. */
type Fitting<Answer, Shape extends Record<string, z.ZodType>> = {
  [Name in keyof Shape]: Name extends keyof Answer
    ? Answer[Name] extends z.input<Shape[Name]>
      ? Shape[Name]
      : never
    : never;
};

/**
 * What the commands read of the server's answers, and nothing else: a newer server may send more, and `--json` passes
 * that on. A field that the contract does not know, or knows with another type, does not compile.
 */
function reading<Answer>() {
  return <Shape extends Record<string, z.ZodType>>(shape: Shape & Fitting<Answer, Shape>) =>
    z.looseObject(shape as Shape);
}

const text = z.string();
const nullable = z.string().nullish();

export const deployment = reading<wire.Deployment>()({
  id: text,
  name: text,
  slug: text,
  source: text,
  status: text,
  desired_state: nullable,
  health: z.looseObject({ state: text, message: nullable }),
  // Servers of an earlier version know none.
  sleep: z.looseObject({ state: text, allowed: z.boolean() }).optional(),
  url: text,
  // Servers of an earlier version do not tell it.
  runs_on: z.looseObject({ kind: text, name: nullable }).optional(),
  page_url: nullable,
  domain_urls: z.array(text).default([]),
  source_config: z.looseObject({ repo_url: nullable, resource_spec: z.looseObject({}).nullish() }),
  source_revision_config: z.looseObject({ repo_ref: nullable, repo_commit_sha: nullable }),
  secrets: z.array(z.looseObject({ name: text, value: text })),
  secret_references: z.array(z.object({ name: text, secret_name: text, secret_key: text })).nullish(),
  latest_revision_id: nullable,
  // Servers of an earlier version do not tell it.
  latest_revision_status: nullable,
  active_revision_id: nullable,
  created_at: text,
  updated_at: text,
});
export type Deployment = z.output<typeof deployment>;

export const deploymentDomain = reading<wire.DeploymentDomain>()({
  domain: text,
  state: text,
  url: text,
  record: z.looseObject({ type: text, name: text, value: text }),
  problem: z.looseObject({ code: text, message: text }).nullish(),
});
export type DeploymentDomain = z.output<typeof deploymentDomain>;

export const timelineEvent = reading<wire.RevisionEvent>()({
  id: z.number(),
  kind: text,
  status: nullable,
  message: text,
  created_at: text,
});
export type TimelineEvent = z.output<typeof timelineEvent>;

const failure = z.looseObject({
  file: nullable,
  line: z.number().nullish(),
  column: z.number().nullish(),
  reason: text,
  output: z.array(text),
});

export const revision = reading<wire.Revision>()({
  id: text,
  number: z.number(),
  status: text,
  status_message: nullable,
  failure: failure.nullish(),
  progress: z.number(),
  source: text,
  source_revision_config: z.looseObject({ repo_ref: nullable, repo_commit_sha: nullable }),
  redeploy_of: nullable,
  events: z.array(timelineEvent),
  created_at: text,
  updated_at: text,
});
export type Revision = z.output<typeof revision>;

export const logLine = reading<wire.LogLine>()({
  id: z.union([text, z.number()]).transform(String),
  timestamp: text,
  level: text,
  message: text,
});
export type LogLine = z.output<typeof logLine>;

export const logPage = reading<wire.Answers["list_deployment_logs"]>()({
  logs: z.array(logLine),
  next_offset: nullable,
  incomplete: nullable,
});
export const upload = z.looseObject({ upload_url: text, object_path: text });
export const resourcesOf = <Item extends z.ZodType>(item: Item) =>
  z.looseObject({ resources: z.array(item) });
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.looseObject({ resources: z.array(item), offset: z.number() });

export const serverInfo = reading<wire.ServerInfo>()({ version: text });
export const workspace = reading<wire.Workspace>()({ id: text, name: text, role: text });
export type Workspace = z.output<typeof workspace>;

export const apiKey = reading<wire.ApiKey>()({
  id: text,
  name: text,
  prefix: text,
  role: text,
  // Servers of an earlier version know none of these.
  scopes: z.array(text).nullish(),
  tracing_project: nullable,
  service: z.boolean().nullish(),
  last_used_at: nullable,
  expires_at: nullable,
});
export const createdApiKey = apiKey.extend({ key: text });

export const listener = reading<wire.Listener>()({
  id: text,
  compute_type: text,
  compute_id: text,
  presence: text,
  seen_at: nullable,
  process: z.looseObject({ version: text, runtime: text, url: text }).nullable(),
  deployments: z.number(),
});
export type Listener = z.output<typeof listener>;

export const project = reading<wire.TraceProject>()({ id: text, name: text });

export const destination = reading<wire.BulkExportDestination>()({
  id: text,
  display_name: text,
  config: z.looseObject({ bucket_name: nullable, prefix: text, endpoint_url: nullable, region: nullable }),
  credentials_keys: z.array(text),
  created_at: text,
});
export type Destination = z.output<typeof destination>;

export const bulkExport = reading<wire.BulkExport>()({
  id: text,
  bulk_export_destination_id: text,
  session_id: nullable,
  status: text,
  error: nullable,
  start_time: text,
  end_time: nullable,
  interval_hours: z.number().nullish(),
  filter: nullable,
  trace_filter: nullable,
  progress: z.looseObject({
    runs_total: z.number(),
    runs_finished: z.number(),
    rows_written: z.number(),
    files_written: z.number(),
    bytes_written: z.number(),
    percentage: z.number(),
  }),
  created_at: text,
  finished_at: nullable,
});
export type BulkExport = z.output<typeof bulkExport>;

export const exportRun = reading<wire.BulkExportRun>()({
  status: text,
  start_time: text,
  end_time: text,
  metadata: z.looseObject({
    result: z.looseObject({ rows_written: z.number(), exported_files: z.array(text) }).nullish(),
  }),
});

export const exportFile = reading<wire.BulkExportFile>()({
  run_id: text,
  part: z.number(),
  start_time: text,
  uri: text,
  rows: z.number(),
  bytes: z.number(),
});

export const exportFileLink = reading<wire.BulkExportFileLink>()({ url: text, expires_at: text });

export const alert = reading<wire.Alert>()({
  id: text,
  name: text,
  kind: text,
  scope: text,
  scope_id: nullable,
  window_minutes: z.number(),
  threshold: z.number().nullish(),
  min_runs: z.number(),
  emails: z.array(text),
  webhook_host: nullable,
  enabled: z.boolean(),
  muted_until: nullable,
  state: text,
  state_since: text,
  last_value: z.number().nullish(),
  problem: nullable,
  undelivered: z.array(z.looseObject({ target: text, status: text, error: text, at: text })).default([]),
  evaluated_at: nullable,
});
export type Alert = z.output<typeof alert>;
export const madeAlert = alert.extend({ webhook_secret: nullable });

export const alertEvent = reading<wire.AlertEvent>()({
  id: text,
  kind: text,
  message: text,
  muted: z.boolean(),
  at: text,
  deliveries: z.array(z.looseObject({ channel: text, target: text, status: text, error: nullable })),
});
export type AlertEvent = z.output<typeof alertEvent>;

export const provider = reading<wire.OAuthProvider>()({ provider_id: text, name: text });

export const authorization = reading<wire.AuthAuthenticateResponse>()({
  status: text,
  url: z.string().optional(),
  auth_id: z.string().optional(),
  token_id: z.string().optional(),
});
export const waited = reading<wire.AuthWaitResponse>()({ status: text, detail: z.string().optional() });

export const connection = reading<wire.OAuthTokenSummary>()({
  id: text,
  provider_id: text,
  provider_account_label: nullable,
  scopes: z.array(text),
  expires_at: nullable,
  is_default: z.boolean(),
  status: text,
  agent_id: nullable,
  user_id: nullable,
  created_at: text,
});
export type AccountConnection = z.output<typeof connection>;

export const assistant = reading<wire.Assistant>()({ assistant_id: text, graph_id: text, name: text });
export const thread = reading<wire.Thread>()({ thread_id: text });
export const run = reading<wire.Run>()({
  run_id: text,
  thread_id: text,
  assistant_id: text,
  status: text,
  created_at: text,
  updated_at: text,
});
export type AgentRun = z.output<typeof run>;
