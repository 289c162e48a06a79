import { z } from "zod";
import { deploymentStatuses, deploymentTypes, desiredStates, tiers } from "../desired-state/deployment.ts";
import { revisionStatuses, sources } from "../desired-state/revision.ts";
import { sleepStates } from "../desired-state/sleep.ts";
import { exitKinds } from "../runtimes/exit.ts";
import { id, time } from "../wire/wire-fields.ts";
import { healthStates } from "./health.ts";

export const exitFields = {
  restarts: z.number().int().describe("How often its server ended by itself, in the last seven days."),
  last_exit: z
    .object({ at: time, kind: z.enum(exitKinds), reason: z.string() })
    .nullable()
    .describe("The last time its server ended by itself."),
};

const text = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[^\0]*$/, "must not contain a NUL character");

export const deploymentName = z
  .string()
  .trim()
  .min(1)
  .max(128)
  .regex(/^[^\p{Cc}/\\]*$/u, "must not contain control characters or slashes");

/** Processors are dealt out in tenths. */
function withTenths<Spec extends Record<string, unknown>>(spec: Spec): Spec {
  const rounded = Object.entries(spec).map(([name, value]) => {
    const isCpu = typeof value === "number" && /(?:^|_)cpu(?:_limit)?$/.test(name);
    return [name, isCpu ? Math.max(1, Math.round(value * 10)) / 10 : value];
  });
  return Object.fromEntries(rounded) as Spec;
}

/** Sizes people set are checked; what only a cluster understands is kept as it is. */
const resourceSpec = z
  .looseObject({
    cpu: z.number().min(0.1).max(8).nullish(),
    cpu_limit: z.number().min(0.1).max(16).nullish(),
    memory_mb: z.number().int().min(64).max(1_048_576).nullish(),
    memory_limit_mb: z.number().int().min(64).max(1_048_576).nullish(),
    min_scale: z.number().int().min(0).max(1000).nullish(),
    max_scale: z.number().int().min(1).max(1000).nullish(),
    scaling: z
      .enum(["treadle", "external"])
      .nullish()
      .describe("`external`: the number of replicas is left to a HorizontalPodAutoscaler or KEDA."),
  })
  .refine(({ min_scale, max_scale }) => (min_scale ?? 0) <= (max_scale ?? 1000), {
    path: ["max_scale"],
    error: "must be min_scale or more",
  })
  .transform(withTenths);

/** Where a proxy of the operator's own serves the deployment; it is shown, and used for nothing else. */
const customUrl = text(2_000).refine(
  isPlainWebAddress,
  "must be an address that starts with https:// or http://, without user, query and fragment",
);

function isPlainWebAddress(given: string): boolean {
  if (!URL.canParse(given) || /[\s\\]/.test(given)) return false;
  const { protocol, username, password, search, hash } = new URL(given);
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === "";
}

export const sourceConfigRequest = z.object({
  integration_id: id.nullish(),
  repo_url: text(2_000).nullish(),
  deployment_type: z.enum(deploymentTypes).nullish(),
  build_on_push: z.boolean().nullish(),
  custom_url: customUrl
    .nullish()
    .describe("Where your own proxy serves it. It is only shown; this server serves `url`."),
  resource_spec: resourceSpec.nullish(),
  listener_id: id.nullish(),
  listener_config: z
    .strictObject({ k8s_namespace: z.string().max(63).nullish() })
    .nullish()
    .describe(
      "A namespace that `compute_config.k8s_namespaces` of the listener has. It cannot be changed later.",
    ),
  install_command: text(2_000).nullish(),
  build_command: text(2_000).nullish(),
});

export const sourceRevisionConfigRequest = z
  .object({
    repo_ref: text(255).nullish(),
    graph_config_path: text(1_000).nullish(),
    langgraph_config_path: text(1_000).nullish().describe("The same as graph_config_path."),
    image_uri: text(1_000).nullish(),
    source_tarball_path: text(1_000).nullish(),
  })
  .transform(({ langgraph_config_path, graph_config_path, ...rest }) => ({
    ...rest,
    graph_config_path: graph_config_path ?? langgraph_config_path,
  }));

export const secret = z.object({ name: z.string().min(1).max(255), value: z.string() });
export const secretReference = z.object({
  name: z.string().max(255).describe("The variable of the server."),
  secret_name: z.string().max(253).describe("A Secret in the namespace of the server."),
  secret_key: z.string().max(253),
});

export const createRequest = z.object({
  name: deploymentName,
  source: z.enum(sources),
  source_config: sourceConfigRequest,
  source_revision_config: sourceRevisionConfigRequest,
  secrets: z.array(secret).default([]),
  secret_references: z.array(secretReference).nullish(),
  shareable: z.boolean().default(false),
  route_through_gateway: z.boolean().default(false),
});

export const patchRequest = z.object({
  name: deploymentName
    .nullish()
    .describe("Cannot be changed; only the current name is accepted. See display_name."),
  source: z
    .enum(sources)
    .nullish()
    .describe("Cannot be changed; only the current source is accepted. See revision_source."),
  display_name: z.string().trim().min(1).max(128).nullish(),
  revision_source: z
    .enum(["github", "internal_docker", "internal_source"])
    .nullish()
    .describe(
      "The source of this revision and of later ones, until another is set. The first one from git needs source_config.repo_url.",
    ),
  source_config: sourceConfigRequest.nullish(),
  source_revision_config: sourceRevisionConfigRequest.nullish(),
  tracked_repo_ref: text(255).nullish(),
  deployment_tier: z.enum(tiers).nullish(),
  secrets: z.array(secret).nullish(),
  secret_references: z.array(secretReference).nullish(),
  route_through_gateway: z.boolean().nullish(),
  tracked_packages: z.array(z.string()).nullish().describe("Accepted and not used."),
});

export const revisionRequest = patchRequest.pick({
  revision_source: true,
  source_config: true,
  source_revision_config: true,
  secrets: true,
  secret_references: true,
});

const nullableText = z.string().nullable();

export const sourceRevisionConfig = z.object({
  repo_ref: nullableText,
  graph_config_path: nullableText,
  langgraph_config_path: nullableText,
  image_uri: nullableText,
  source_tarball_path: nullableText,
  repo_commit_sha: nullableText,
});

export const previewSettings = z.object({
  enabled: z.boolean(),
  share_secrets: z
    .boolean()
    .describe("Previews get the deployment's secrets: everyone who can push a branch can read them."),
});

export const deployment = z
  .object({
    id,
    tenant_id: id,
    name: z.string(),
    display_name: nullableText,
    source: z.enum(sources),
    source_config: z.object({
      integration_id: nullableText,
      repo_url: nullableText,
      repo_branch: nullableText,
      deployment_type: nullableText,
      build_on_push: z.boolean().nullable(),
      custom_url: nullableText,
      resource_spec: z.looseObject({}).nullable(),
      listener_id: nullableText,
      listener_config: z.looseObject({}).nullable(),
      install_command: nullableText,
      build_command: nullableText,
    }),
    source_revision_config: sourceRevisionConfig,
    secrets: z.array(z.object({ name: z.string(), value: z.string().describe("Always a mask.") })),
    secret_references: z.array(secretReference).nullable(),
    shareable: z.boolean(),
    route_through_gateway: z.boolean(),
    status: z.enum(deploymentStatuses),
    desired_state: z.enum(desiredStates).describe("Whether it should run. POST …/stop and …/start set it."),
    latest_revision_id: id.nullable(),
    latest_revision_status: z
      .enum(revisionStatuses)
      .nullable()
      .describe(
        "Of the newest revision. Null without one. A deployment can be READY although its newest revision failed.",
      ),
    active_revision_id: id.nullable(),
    url: z.string().describe("Where it is served."),
    runs_on: z
      .object({
        kind: z
          .string()
          .describe(
            "`process` (a process of this host), `docker`, `kubernetes`, or `listener` (another network).",
          ),
        name: nullableText.describe("Of the listener; null if it is gone."),
      })
      .describe("Where its server runs. The listener's id is `source_config.listener_id`."),
    page_url: z
      .string()
      .nullable()
      .describe(
        "The same server at an origin of its own, for pages that people open. Null where deployments have none.",
      ),
    domain_urls: z.array(z.string()).describe("The same server at its verified domains. See GET …/domains."),
    health: z.object({
      state: z.enum(healthStates),
      message: z.string().nullable().describe("Why it is not serving, with the last lines of its log."),
      attempt: z
        .number()
        .int()
        .describe("The number of this start; it increases while the server keeps exiting."),
      since: time.nullable(),
      ...exitFields,
    }),
    sleep: z
      .object({
        state: z.enum(sleepStates),
        allowed: z
          .boolean()
          .describe("It sleeps while nobody uses it: `resource_spec.min_scale` is 0, or its type says so."),
        since: time.nullable().describe("When its state last changed."),
        wakes_at: time.nullable().describe("When it wakes by itself, for the next cron or delayed run."),
      })
      .describe("POST …/sleep and …/wake change its state; every request to one that is asleep wakes it."),
    slug: z.string(),
    tracked_repo_ref: nullableText,
    tracer_session_id: nullableText,
    is_preview: z.boolean().describe("Created for a pull request, and removed with it."),
    preview_of: id.nullable().describe("For a preview: the deployment it belongs to."),
    preview_number: z.number().int().nullable().describe("For a preview: the number of the pull request."),
    previews: previewSettings.describe("Whether pull requests get their own deployments."),
    image_version: nullableText,
    deployment_tier: nullableText,
    compute_tier: nullableText,
    database_tier: nullableText,
    created_at: time,
    updated_at: time,
  })
  .meta({ id: "Deployment" });
