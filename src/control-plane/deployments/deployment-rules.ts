import { AppError, invalidField } from "../../platform/errors.ts";
import { commandProblem } from "../builds/command-guard.ts";
import { configPathProblem, parseRepoUrl, refProblem } from "../builds/git/repo-url.ts";
import type { SourceConfig } from "../desired-state/deployment.ts";
import type { Source, SourceRevisionConfig } from "../desired-state/revision.ts";
import { referenceProblems, type SecretReference } from "../desired-state/secret-references.ts";
import { type Secret, secretProblems } from "../desired-state/secret-rules.ts";
import { hostProblem, type Integration } from "../integrations/integration.ts";

export type RuleSettings = {
  edition: "self-hosted" | "cloud";
  /** Repositories on this machine's own disk may be used. */
  allowLocalRepositories: boolean;
  /** Whether the runtime can start a ready image. */
  runsImages: boolean;
  /** Whether its servers are pods, which take values from Secrets of their cluster. */
  readsClusterSecrets: boolean;
};

/** The rules about a source that no schema can express; throws the 400 or 422 that names what to change. */
export function checkSource(
  source: Source,
  config: Partial<SourceConfig>,
  revision: Partial<SourceRevisionConfig>,
  settings: RuleSettings,
): void {
  for (const name of ["install_command", "build_command"] as const) {
    const command = config[name];
    const problem = command ? commandProblem(command) : null;
    if (problem) throw invalidField(["body", "source_config", name], `${name} ${problem}`, command);
  }
  if (config.repo_url) checkRepoUrl(config.repo_url, settings);
  if (revision.repo_ref) {
    const problem = refProblem(revision.repo_ref);
    if (problem) throw invalidField(["body", "source_revision_config", "repo_ref"], `repo_ref ${problem}`);
  }
  if (revision.graph_config_path) {
    const problem = configPathProblem(revision.graph_config_path);
    const place = ["body", "source_revision_config", "graph_config_path"];
    if (problem) throw invalidField(place, `graph_config_path ${problem}`, revision.graph_config_path);
  }
  if (source === "github" && config.build_on_push && revision.repo_ref?.startsWith("refs/tags/")) {
    throw refused(
      "build_on_push needs a branch: a tag does not move. Set repo_ref to a branch, or build_on_push to false.",
    );
  }
}

function checkRepoUrl(repoUrl: string, settings: RuleSettings): void {
  const place = ["body", "source_config", "repo_url"];
  const parsed = parseRepoUrl(repoUrl);
  if ("problem" in parsed) throw invalidField(place, parsed.problem);
  if (parsed.kind === "local" && !settings.allowLocalRepositories) {
    throw refused(
      "Repositories on the server's own disk (file:// and paths) are permitted only while it listens on loopback. Use https or ssh.",
    );
  }
}

/** The token of an integration is for its host; a deployment elsewhere would carry it there. */
export function checkIntegrationHost(integration: Integration, repoUrl: string | null): void {
  if (repoUrl === null) return;
  const repository = parseRepoUrl(repoUrl);
  const problem = "problem" in repository ? repository.problem : hostProblem(integration, repository);
  if (problem) throw refused(problem);
}

export function checkSecrets(secrets: readonly Secret[], settings: RuleSettings): void {
  const [first] = secretProblems(secrets, settings.edition);
  if (first) throw invalidField(["body", "secrets", first.index, "name"], first.message);
}

export function checkSecretReferences(
  references: readonly SecretReference[],
  secrets: readonly Secret[],
  settings: RuleSettings,
): void {
  const [first] = referenceProblems(references, secrets, settings.edition);
  if (first) throw invalidField(["body", "secret_references", first.index, first.field], first.message);
}

/** A revision from another source than the one before needs everything that source takes. */
export function checkNewSource(
  source: Source,
  config: Pick<SourceConfig, "repo_url">,
  revision: SourceRevisionConfig,
): void {
  const missing = (part: "source_config" | "source_revision_config", name: string, how: string) =>
    invalidField(
      ["body", part, name],
      `${name} is required for a revision from the source ${source}: ${how}`,
    );
  if (source === "github") {
    if (!config.repo_url) throw missing("source_config", "repo_url", "the repository to build from");
  } else if (source === "internal_source" || source === "internal_template") {
    const how = "the object_path of an archive uploaded by POST …/upload-url";
    if (!revision.source_tarball_path) throw missing("source_revision_config", "source_tarball_path", how);
  } else if (!revision.image_uri) {
    throw missing("source_revision_config", "image_uri", "the image to start");
  }
}

/** What could never be built or started is not taken in the first place. */
export function checkStartable(
  source: Source,
  config: Pick<SourceConfig, "listener_id">,
  revision: Partial<SourceRevisionConfig>,
  settings: RuleSettings,
): void {
  if (source === "internal_template") {
    throw refused(
      "The source internal_template is not supported here. Upload a template instead: GET /v2/templates returns the files, for the source internal_source.",
    );
  }
  const isImage =
    source === "external_docker" || (source === "internal_docker" && Boolean(revision.image_uri));
  if (!isImage || settings.runsImages || config.listener_id) return;
  throw refused(
    `The source ${source} starts an image, and this server cannot run images. Set TREADLE_RUNTIME=docker or kubernetes, or deploy from source.`,
  );
}

/** Sent back as they were read they change nothing; anything else would be a wish that is not granted. */
export function refuseRenaming(
  current: { name: string; source: Source },
  patch: { name?: string | undefined; source?: Source | undefined },
): void {
  if (patch.name !== undefined && patch.name !== current.name)
    throw refused(
      `name cannot be changed: it is '${current.name}'. Set display_name, or create another deployment.`,
    );
  if (patch.source !== undefined && patch.source !== current.source)
    throw refused(
      `source cannot be changed: it is ${current.source}. revision_source sets where a revision comes from.`,
    );
}

function refuseMoving(current: SourceConfig, patch: Partial<SourceConfig>): void {
  const given = patch.listener_config?.k8s_namespace ?? null;
  if (given === null || given === current.listener_config?.k8s_namespace) return;
  throw refused(
    "source_config.listener_config.k8s_namespace cannot be changed. Create another deployment for it.",
  );
}

const immutable = ["repo_url", "integration_id", "deployment_type", "listener_id"] as const;

/** Set once, with the first revision built from git. */
const setOnce: readonly string[] = ["repo_url", "integration_id"];

export function refuseImmutable(current: SourceConfig, patch: Partial<SourceConfig>, source: Source): void {
  refuseMoving(current, patch);
  const firstRepository = source === "github" && current.repo_url === null;
  for (const name of immutable) {
    const given = patch[name];
    if (firstRepository && setOnce.includes(name)) continue;
    if (given !== undefined && given !== null && given !== current[name]) {
      const how =
        current.repo_url === null && setOnce.includes(name)
          ? 'To build from a repository from now on, send it with revision_source "github".'
          : "Create another deployment for it.";
      throw refused(`source_config.${name} cannot be changed. ${how}`);
    }
  }
}

export function refused(message: string): AppError {
  return new AppError({ code: "deployment.refused", kind: "invalid", message });
}

export function deploymentNotFound(id: string): AppError {
  return new AppError({
    code: "deployment.not_found",
    kind: "not_found",
    message: `Deployment ID ${id} not found.`,
  });
}

export function revisionNotFound(id: string): AppError {
  return new AppError({
    code: "revision.not_found",
    kind: "not_found",
    message: `Revision ID ${id} not found.`,
  });
}
