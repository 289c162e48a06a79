import { z } from "zod";
import { roles } from "../../platform/http/access/caller.ts";
import { scopes } from "../../platform/http/access/scope.ts";
import { desiredStates } from "../desired-state/deployment.ts";
import { revisionConditions, revisionStatuses, sources } from "../desired-state/revision.ts";
import { logLevels, logOrigins } from "../logs/log.ts";
import { exitKinds } from "../runtimes/exit.ts";
import { instanceStates } from "../runtimes/instance.ts";
import { id, time } from "../wire/wire-fields.ts";

/** What the platform and its listeners send each other. Both sides parse with these. */

const text = (most: number) => z.string().max(most);
const nullableText = (most: number) => text(most).nullable();
const count = z.number().int().min(0);
/** What the database has a column of four bytes for. */
const smallCount = count.max(2_147_483_647);
/** A time that the database can store, and that is one: the year 0 is none. */
const moment = time.refine((text) => Date.parse(text) >= 0, "Must be a time after 1970");
/** What a header of a request can be. */
const headerText = (most: number) =>
  text(most)
    .regex(/^[\t\u0020-\u007e\u0080-\u00ff]*$/, "Must be what a header can hold")
    .nullable();
const epoch = count.describe("The lease's, as POST …/lease answered it.");
const webAddress = z.url({ protocol: /^https?$/ }).max(2_000);

/** The most of one kind in one report. */
export const mostItems = 500;
const items = <Item extends z.ZodType>(item: Item) => z.array(item).max(mostItems);

/** How long the texts of a report may be. Who reports cuts them: what strangers print stops no report. */
export const mostOf = {
  statusMessage: 100_000,
  file: 2_000,
  reason: 10_000,
  outputLines: 100,
  outputLine: 2_000,
  commit: 200,
  imageReference: 1_000,
  imageDigest: 200,
  exitDetail: 10_000,
  eventKind: 100,
  eventMessage: 100_000,
  logMessage: 20_000,
  runId: 200,
} as const;

/** How large the figures of a report may be: far more than a server has, and no sum of them overflows. */
export const mostMeasured = { cpu: 1_000_000, memoryBytes: 2 ** 50, busyMs: 2 ** 40 } as const;

export const leaseRequest = z.object({
  place: id.describe("The database of the listener. Its deployments are there, and nowhere else."),
  holder: id.describe("The process. The same one gets its lease again at once, after a restart too."),
  version: text(100),
  runtime: text(100),
  url: webAddress.describe("Where it serves deployments: `{url}/d/{slug}`."),
  take_over: z
    .boolean()
    .default(false)
    .describe("Begin anew at another place. What the first one has of the deployments stays there."),
});

export const lease = z.object({
  epoch,
  lease_seconds: z.number(),
  event_cursor: count,
  log_cursor: count,
  metrics_until: time.nullable(),
});

export const endRequest = z.object({ epoch });

export const pollRequest = z.object({
  epoch,
  known: text(100).nullish().describe("The `version` of the last answer."),
  wait_seconds: z.number().int().min(0).max(30).default(0),
});

const revisionSpec = z.object({
  id,
  number: z.number().int(),
  source: z.enum(sources),
  source_revision_config: z.object({
    repo_ref: z.string().nullable(),
    graph_config_path: z.string().nullable(),
    image_uri: z.string().nullable(),
    source_tarball_path: z.string().nullable(),
  }),
  build_config: z.object({
    repo_url: z.string().nullable(),
    integration_id: z.string().nullable(),
    install_command: z.string().nullable(),
    build_command: z.string().nullable(),
    resource_spec: z.record(z.string(), z.unknown()).nullable(),
    k8s_namespace: z.string().nullish(),
    secret_references: z
      .array(z.object({ name: z.string(), secret_name: z.string(), secret_key: z.string() }))
      .optional(),
  }),
  repo_commit_sha: z.string().nullable(),
  image_reference: z.string().nullable(),
  image_digest: z.string().nullable(),
  redeploy_of: id.nullable(),
});

export const wantedDeployment = z.object({
  id,
  name: z.string(),
  slug: z.string(),
  source: z.enum(sources),
  desired_state: z.enum(desiredStates),
  restart_requested_at: time.nullable(),
  tracing_key_id: id.nullable(),
  revisions: z.array(revisionSpec),
});

export const wantedState = z.object({
  version: z.string(),
  deployments: z.array(wantedDeployment),
  deleted: z
    .array(z.object({ id, purge_after: time }))
    .describe("Deployments that the listener may still have, and when their data is to go."),
});

export const secretsRequest = z.object({ epoch });
export const revisionSecrets = z.object({
  secrets: z.array(z.object({ name: z.string(), value: z.string() })),
  tracing: z.object({ key_id: id, api_key: z.string() }).nullable(),
});

export const sourceRequest = z.object({ epoch });
export const revisionSource = z.union([
  z.object({
    kind: z.literal("git"),
    url: z.string(),
    ref: z.string().nullable(),
    commit: z.string().nullable(),
    credentials: z.union([z.object({ token: z.string() }), z.object({ privateKey: z.string() })]).nullable(),
  }),
  z.object({ kind: z.literal("tarball"), sha256: z.string(), bytes: count }),
]);

export const callerRequest = z.object({
  api_key: headerText(4_096),
  authorization: headerText(16_384),
  tenant_id: headerText(200),
});
export const recognised = z.object({
  caller: z
    .object({
      organization_id: id,
      user_id: z.string(),
      role: z.enum(roles),
      via: z.enum(["api_key", "session", "service"]),
      scopes: z.array(z.enum(scopes)).nullable(),
      deployment_id: id.nullable(),
    })
    .nullable()
    .describe("Null where it is nobody of the listener's workspace."),
  refusal: z.string().nullable(),
  // Platforms before this one do not say these.
  is_credential: z
    .boolean()
    .optional()
    .describe("Whether it is a credential of the platform at all, valid or not. No project may see it then."),
  has_chosen_keys: z
    .boolean()
    .optional()
    .describe("Whether the platform has keys that do not begin with `trk_`, so that only it can tell them."),
});

const failure = z.object({
  file: nullableText(mostOf.file),
  line: z.number().nullable(),
  column: z.number().nullable(),
  reason: text(mostOf.reason),
  output: z.array(text(mostOf.outputLine)).max(mostOf.outputLines),
});

const reportedRevision = z.object({
  id,
  status: z.enum(revisionStatuses),
  status_message: nullableText(mostOf.statusMessage),
  condition: z.enum(revisionConditions).nullable(),
  failure: failure.nullable(),
  progress: z.number().int().min(0).max(100),
  repo_commit_sha: nullableText(mostOf.commit),
  uses_own_auth: z.boolean(),
  image_reference: nullableText(mostOf.imageReference),
  image_digest: nullableText(mostOf.imageDigest),
});

const reportedDeployment = z.object({
  id,
  url: webAddress,
  database_ready: z.boolean(),
  active_revision_id: id.nullable(),
  previous_revision_id: id.nullable(),
  switched_at: moment.nullable(),
});

const reportedInstance = z.object({
  id,
  deployment_id: id,
  revision_id: id,
  state: z.enum(instanceStates),
  attempt: smallCount,
  tracing_key_id: id.nullable(),
  started_at: moment,
  ready_at: moment.nullable(),
  drain_since: moment.nullable(),
  stop_since: moment.nullable(),
  exited_at: moment.nullable(),
  exit_kind: z.enum(exitKinds).nullable(),
  exit_detail: nullableText(mostOf.exitDetail),
  lost_pods: z
    .boolean()
    .default(false)
    .describe(
      "In a cluster: none of its pods takes requests. Listeners of an earlier version do not tell it.",
    ),
});

const reportedEvent = z.object({
  revision_id: id,
  kind: text(mostOf.eventKind),
  status: z.enum(revisionStatuses).nullable(),
  message: text(mostOf.eventMessage),
  created_at: moment,
});

const reportedLine = z.object({
  deployment_id: id,
  revision_id: id,
  kind: z.enum(["build", "deploy"]),
  at: moment,
  level: z.enum(logLevels),
  message: text(mostOf.logMessage),
  run_id: nullableText(mostOf.runId),
  origin: z.enum(logOrigins).nullable(),
});

const reportedMetric = z.object({
  deployment_id: id,
  at: moment,
  cpu: z.number().min(0).max(mostMeasured.cpu).nullable(),
  memory_bytes: z.number().min(0).max(mostMeasured.memoryBytes).nullable(),
  requests: smallCount,
  errors: smallCount,
  busy_ms: z.number().min(0).max(mostMeasured.busyMs),
});

/** Stored when `after` is the cursor, which then becomes `upto`; otherwise they were stored before. */
const numbered = <Item extends z.ZodType>(item: Item) =>
  z.object({ after: count, upto: count, items: items(item) });

export const report = z.object({
  epoch,
  number: count.describe(
    "Grows with each report of a lease. One that arrives after a later one stores nothing.",
  ),
  held: z.array(id).max(100_000).describe("Every deployment that the listener has something of."),
  deployments: items(reportedDeployment),
  revisions: items(reportedRevision),
  instances: items(reportedInstance),
  events: numbered(reportedEvent),
  logs: numbered(reportedLine),
  metrics: z.object({ until: moment.nullable(), items: items(reportedMetric) }),
});

export const reported = z.object({
  event_cursor: count,
  log_cursor: count,
  metrics_until: time.nullable(),
});

export type Lease = z.output<typeof lease>;
export type LeaseRequest = z.output<typeof leaseRequest>;
export type WantedState = z.output<typeof wantedState>;
export type WantedDeployment = z.output<typeof wantedDeployment>;
export type RevisionSpec = z.output<typeof revisionSpec>;
export type RevisionSecrets = z.output<typeof revisionSecrets>;
export type RevisionSource = z.output<typeof revisionSource>;
export type Report = z.output<typeof report>;
export type Reported = z.output<typeof reported>;
export type Recognised = z.output<typeof recognised>;
