import { join } from "node:path";
import { GitSource } from "./builds/git/git-source.ts";
import type { ControlPlaneOptions } from "./control-plane-options.ts";
import { createDeployments } from "./deployments/deployments.ts";
import type { Deployment } from "./desired-state/deployment.ts";
import { RevisionMaker } from "./desired-state/revision-maker.ts";
import { DomainRecheckService } from "./domains/domain-recheck-service.ts";
import { DomainService } from "./domains/domain-service.ts";
import type { DomainTable } from "./domains/domain-table.ts";
import type { DeploymentOrigins } from "./gateway/deployment-origins.ts";
import { GitHostApi } from "./integrations/git-host-api.ts";
import { IntegrationService } from "./integrations/integration-service.ts";
import { PreviewService } from "./integrations/preview-service.ts";
import { PullRequestPoll } from "./integrations/pull-request-poll.ts";
import { PushService } from "./integrations/push-service.ts";
import { LogReader } from "./logs/log-reader.ts";
import { LogService } from "./logs/log-service.ts";
import { DeploymentSources } from "./reconciler/deployment-sources.ts";
import { RevisionService } from "./revisions/revision-service.ts";
import type { DeploymentTracing } from "./tracing/deployment-tracing.ts";
import { UploadService } from "./uploads/upload-service.ts";

export type Services = ReturnType<typeof composeServices>;

/** What callers ask for: the use cases behind the routes. */
export function composeServices(
  options: ControlPlaneOptions,
  {
    origins,
    tracing,
    domains: table,
    forgetRoute,
  }: {
    origins: DeploymentOrigins;
    tracing: DeploymentTracing;
    domains: DomainTable;
    forgetRoute(deploymentId: string): void;
  },
) {
  const { database, clock, logger, secretBox, network, runtime, settings, folder, publicUrl } = options;
  const ground = { database, clock, logger, secretBox };
  const urlOf = ({ slug }: Pick<Deployment, "slug">) => `${publicUrl()}/d/${slug}`;
  const git = new GitSource({
    network,
    allowLocal: settings.allowLocalRepositories,
    environment: options.buildEnvironment,
    knownHostsFolder: join(folder, "known-hosts"),
  });
  const revisions = new RevisionMaker({ clock, secretBox });
  const site = createDeployments({
    ...ground,
    ...{ revisions, urlOf, tracing, forgetRoute, runtimeName: runtime.name },
    pageUrlOf: ({ slug }) => origins.urlOf(slug),
    urlOfDomain: (domain) => origins.urlOfDomain(domain),
    rules: {
      edition: settings.edition,
      allowLocalRepositories: settings.allowLocalRepositories,
      runsImages: runtime.runs.images,
      readsClusterSecrets: runtime.readsClusterSecrets ?? false,
    },
    checkAddress: (url) => git.checkAddress(url),
    refusal: async () => (await runtime.isolation()).refusal,
    purgeAfterMs: settings.purgeAfterMs,
  });
  const deployments = site.service;
  const txtRecords = settings.domainCheck === "none" ? null : options.txtRecords;
  const domainRechecks = new DomainRecheckService({
    ...{ database, clock, logger, table, txtRecords },
    audit: options.audit,
  });
  const domains = new DomainService({
    ...{ database, clock, logger, deployments, table, txtRecords, rechecks: domainRechecks },
    reserved: () => origins.reserved(),
  });
  const revisionService = new RevisionService({ ...ground, deployments, revisions });
  const uploads = new UploadService({ ...ground, deployments, blobs: options.blobs, publicUrl });
  const host = new GitHostApi(network);
  const integrations = new IntegrationService({
    ...ground,
    host,
    onPush: (integration, push) => pushes.onPush(integration, push),
    onPullRequest: (integration, request) => previews.onPullRequest(integration, request),
  });
  const previews = new PreviewService({ ...ground, revisions, purgeAfterMs: settings.purgeAfterMs });
  const pullRequests = new PullRequestPoll({ ...ground, host, integrations, previews });
  const sources = new DeploymentSources({ database, git, integrations, uploads, folder });
  const pushes = new PushService({
    ...ground,
    revisions,
    headOf: (deployment, signal) => sources.headOf(deployment, signal),
  });
  const logReader = new LogReader({ database, blobs: options.blobs, logger });
  return {
    ...{
      site,
      deployments,
      revisions: revisionService,
      uploads,
      integrations,
      pushes,
      previews,
      pullRequests,
      domains,
      domainRechecks,
      sources,
      git,
      urlOf,
    },
    logReader,
    logs: new LogService({ reader: logReader, deployments, revisions: revisionService }),
  };
}
