import { z } from "zod";

/**
 * What the commands read of the server's answers, and nothing else: a newer server may say more, and `--json` passes
 * that on.
 */
const text = z.string();
const nullable = z.string().nullish();

export const deployment = z.looseObject({
  id: text,
  name: text,
  slug: text,
  source: text,
  status: text,
  url: text,
  page_url: nullable,
  source_config: z.looseObject({ repo_url: nullable }),
  source_revision_config: z.looseObject({ repo_ref: nullable, repo_commit_sha: nullable }),
  secrets: z.array(z.looseObject({ name: text, value: text })),
  latest_revision_id: nullable,
  active_revision_id: nullable,
  created_at: text,
  updated_at: text,
});
export type Deployment = z.output<typeof deployment>;

export const timelineEvent = z.looseObject({
  id: z.number(),
  kind: text,
  status: nullable,
  message: text,
  created_at: text,
});
export type TimelineEvent = z.output<typeof timelineEvent>;

export const revision = z.looseObject({
  id: text,
  number: z.number(),
  status: text,
  status_message: nullable,
  progress: z.number(),
  source: text,
  source_revision_config: z.looseObject({ repo_ref: nullable, repo_commit_sha: nullable }),
  redeploy_of: nullable,
  events: z.array(timelineEvent),
  created_at: text,
  updated_at: text,
});
export type Revision = z.output<typeof revision>;

export const logLine = z.looseObject({
  id: z.union([text, z.number()]).transform(String),
  timestamp: text,
  level: text,
  message: text,
});
export type LogLine = z.output<typeof logLine>;

export const logPage = z.looseObject({ logs: z.array(logLine), next_offset: nullable });
export const upload = z.looseObject({ upload_url: text, object_path: text });
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.looseObject({ resources: z.array(item), offset: z.number() });

export const serverInfo = z.looseObject({ version: text });
export const workspace = z.looseObject({ id: text, name: text, role: text });
export type Workspace = z.output<typeof workspace>;

export const apiKey = z.looseObject({
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

export const project = z.looseObject({ id: text, name: text });

export const destination = z.looseObject({
  id: text,
  display_name: text,
  config: z.looseObject({ bucket_name: nullable, prefix: text, endpoint_url: nullable, region: nullable }),
  credentials_keys: z.array(text),
  created_at: text,
});
export type Destination = z.output<typeof destination>;

export const bulkExport = z.looseObject({
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

export const exportRun = z.looseObject({
  status: text,
  start_time: text,
  end_time: text,
  metadata: z.looseObject({
    result: z.looseObject({ rows_written: z.number(), exported_files: z.array(text) }).nullish(),
  }),
});

export const provider = z.looseObject({ provider_id: text, name: text });

export const authorization = z.looseObject({
  status: text,
  url: z.string().optional(),
  auth_id: z.string().optional(),
  token_id: z.string().optional(),
});
export const waited = z.looseObject({ status: text, detail: z.string().optional() });

export const connection = z.looseObject({
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

export const assistant = z.looseObject({ assistant_id: text, graph_id: text, name: text });
export const thread = z.looseObject({ thread_id: text });
export const run = z.looseObject({
  run_id: text,
  thread_id: text,
  assistant_id: text,
  status: text,
  created_at: text,
  updated_at: text,
});
export type AgentRun = z.output<typeof run>;
