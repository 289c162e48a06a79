import { resolve } from "node:path";
import { currentEnvironment } from "../../../config/index.ts";
import { announceRevision } from "../../client/announce-revision.ts";
import * as answers from "../../client/answers.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { chooseRevision, findDeployment } from "../../client/choose-deployment.ts";
import { followRevision, revisionFailure, revisionSteps } from "../../client/follow-revision.ts";
import { openSession, type Session } from "../../client/session.ts";
import { findGitPlace } from "../../project/git-remote.ts";
import { packFolder } from "../../project/pack-folder.ts";
import { type ProjectFolder, readProjectFolder } from "../../project/project-folder.ts";
import { formatBytes, plural } from "../../terminal/amounts.ts";
import { createStepView, type StepView } from "../../terminal/step-view.ts";
import type { DeployOptions } from "./options.ts";
import { nextVariables, parseSecretReference, readSecrets, type Variables } from "./secrets.ts";

type Source = {
  source: "github" | "internal_source";
  sourceConfig: Record<string, unknown>;
  revisionConfig: Record<string, unknown>;
};
type Made = { deployment: answers.Deployment; revisionId: string };

export async function deploy(folder: string | undefined, options: DeployOptions): Promise<void> {
  const root = resolve(folder ?? ".");
  const given = {
    secrets: await readSecrets(options, currentEnvironment()),
    references: (options.secretFrom ?? []).map(parseSecretReference),
  };
  const fromGit = options.git !== undefined;
  const project =
    typeof options.git === "string"
      ? null
      : await readProjectFolder(root, { config: options.config, name: options.name });
  const name = options.name ?? project?.name ?? nameOfRepository(String(options.git));
  const session = await openSession(options);
  const { api, output } = session;
  if (project?.envFile && !options.envFile?.includes(project.envFile) && !options.json) {
    output.note(
      `note: ${project.envFile} is not uploaded. Its variables become secrets with --env-file ${project.envFile}.`,
    );
  }
  const before = await findDeployment(api, name);
  const source = fromGit ? await gitSource(root, project, options, before) : null;
  const variables = nextVariables(before ?? { secrets: [] }, given, options.removeSecret);
  const view = createStepView([...(source ? [] : ["Pack", "Upload"]), ...revisionSteps], options);
  try {
    const made = source
      ? await deployFromGit(api, { name, before, source, variables })
      : await deployFolder(api, view, { name, before, project: project!, variables, options });
    await finish(session, view, made, options);
  } catch (error) {
    view.end("failed");
    throw error;
  } finally {
    view.close();
  }
}

async function finish(session: Session, view: StepView, made: Made, options: DeployOptions): Promise<void> {
  const { api, output } = session;
  const { deployment, revisionId } = made;
  if (!options.wait) {
    view.close();
    const started = await chooseRevision(api, deployment, revisionId);
    output.data({ deployment, revision: started });
    output.line(`Revision ${started.number} of ${deployment.name} is being deployed.`);
    output.line(`Follow it with \`treadle logs ${deployment.name} --build -f\`.`);
    return;
  }
  const followed = await followRevision(api, { deployment, revisionId, view, timeoutMs: options.timeout });
  const failure = revisionFailure(deployment, followed, view);
  view.end(failure ? "failed" : "done", failure ? followed.revision.status : "");
  view.close();
  const current = await api.call(answers.deployment, "GET", `/v2/deployments/${deployment.id}`);
  output.data({ deployment: current, revision: followed.revision, url: current.url });
  if (failure) throw failure;
  announceRevision(session, current, followed.revision);
}

async function gitSource(
  root: string,
  project: ProjectFolder | null,
  options: DeployOptions,
  before: answers.Deployment | undefined,
): Promise<Source> {
  const commands = configOf(options, before);
  if (typeof options.git === "string") {
    return {
      source: "github",
      sourceConfig: { repo_url: options.git, ...commands },
      revisionConfig: {
        repo_ref: options.ref ?? "main",
        langgraph_config_path: options.config ?? "langgraph.json",
      },
    };
  }
  const place = await findGitPlace(root);
  const configPath = [place.folder, project?.configPath].filter(Boolean).join("/");
  return {
    source: "github",
    sourceConfig: { repo_url: place.url, ...commands },
    revisionConfig: { repo_ref: options.ref ?? place.commit, langgraph_config_path: configPath },
  };
}

function configOf(
  { installCommand, buildCommand, cpu, memory, listener }: DeployOptions,
  before: answers.Deployment | undefined,
): Record<string, unknown> {
  const limits = {
    ...(cpu === undefined ? {} : { cpu_limit: cpu }),
    ...(memory === undefined ? {} : { memory_limit_mb: memory }),
  };
  // The specification is replaced as a whole; a limit that was not named stays.
  const resourceSpec = { ...before?.source_config.resource_spec, ...limits };
  return {
    ...(Object.keys(limits).length === 0 ? {} : { resource_spec: resourceSpec }),
    ...(installCommand === undefined ? {} : { install_command: installCommand }),
    ...(buildCommand === undefined ? {} : { build_command: buildCommand }),
    ...(listener === undefined ? {} : { listener_id: listener }),
  };
}

async function deployFromGit(
  api: ApiClient,
  given: {
    name: string;
    before: answers.Deployment | undefined;
    source: Source;
    variables: Variables;
  },
): Promise<Made> {
  const { name, before, source, variables } = given;
  if (before) {
    return addRevision(api, before, source, variables);
  }
  const deployment = await api.call(answers.deployment, "POST", "/v2/deployments", {
    body: {
      name,
      source: source.source,
      source_config: { deployment_type: "dev", build_on_push: false, ...source.sourceConfig },
      source_revision_config: source.revisionConfig,
      ...{ secrets: [], ...variables },
    },
  });
  return { deployment, revisionId: String(deployment.latest_revision_id) };
}

async function deployFolder(
  api: ApiClient,
  view: StepView,
  given: {
    name: string;
    before: answers.Deployment | undefined;
    project: ProjectFolder;
    variables: Variables;
    options: DeployOptions;
  },
): Promise<Made> {
  const { name, project, variables, options } = given;
  view.begin("Pack", project.root);
  const packed = await packFolder(project.root);
  try {
    const size = `${plural(packed.paths.length, "file")}, ${formatBytes(packed.bytes)}`;
    view.note(
      packed.skippedLinks.length === 0
        ? size
        : `${size}; without links that lead out: ${packed.skippedLinks.join(", ")}`,
    );
    view.end("done");
    view.begin("Upload", size);
    const deployment =
      given.before ??
      (await api.call(answers.deployment, "POST", "/v2/deployments", {
        body: {
          name,
          source: "internal_source",
          source_config: {
            deployment_type: "dev",
            ...(options.listener === undefined ? {} : { listener_id: options.listener }),
          },
          source_revision_config: {},
          ...{ secrets: [], ...variables },
        },
      }));
    const upload = await api.call(answers.upload, "POST", `/v2/deployments/${deployment.id}/upload-url`);
    await api.putFile(upload.upload_url, packed.file);
    view.end("done");
    const revisionConfig = {
      source_tarball_path: upload.object_path,
      langgraph_config_path: project.configPath,
    };
    const source: Source = {
      source: "internal_source",
      sourceConfig: configOf(options, given.before),
      revisionConfig,
    };
    return await addRevision(api, deployment, source, given.before ? variables : {});
  } finally {
    await packed.remove();
  }
}

async function addRevision(
  api: ApiClient,
  deployment: answers.Deployment,
  given: Source,
  variables: Variables,
): Promise<Made> {
  const made = await api.call(answers.revision, "POST", `/v2/deployments/${deployment.id}/revisions`, {
    body: {
      revision_source: given.source,
      source_config: given.sourceConfig,
      source_revision_config: given.revisionConfig,
      ...variables,
    },
  });
  return { deployment, revisionId: made.id };
}

function nameOfRepository(url: string): string {
  const last = url.replace(/\/+$/, "").split(/[/:]/).at(-1) ?? "";
  return (
    last
      .replace(/\.git$/, "")
      .toLowerCase()
      .replace(/[^a-z0-9-]+/g, "-") || "app"
  );
}
