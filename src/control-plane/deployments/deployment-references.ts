import type { Sql } from "../../platform/db/database.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { SourceConfig } from "../desired-state/deployment.ts";
import type { SourceRevisionConfig } from "../desired-state/revision.ts";
import type { SecretReference } from "../desired-state/secret-references.ts";
import { findIntegration } from "../integrations/integration-store.ts";
import { isInCluster, type Listener, namespacesOf } from "../listeners/listener.ts";
import { holdListener } from "../listeners/listener-store.ts";
import { holdUpload } from "../uploads/upload-store.ts";
import { checkIntegrationHost, type RuleSettings, refused } from "./deployment-rules.ts";

type Wanted = {
  config: SourceConfig;
  revision: SourceRevisionConfig;
  secretReferences: readonly SecretReference[];
  /** Its namespace cannot be changed: whether the platform still offers it is asked once. */
  isNew: boolean;
};

/** Refuses what names an integration, a listener or an upload that is not there. */
export async function checkReferences(
  tx: Sql,
  caller: Caller,
  deploymentId: string,
  { config, revision, secretReferences, isNew }: Wanted,
  rules: Pick<RuleSettings, "readsClusterSecrets">,
): Promise<void> {
  if (config.integration_id) {
    const integration = await findIntegration(tx, caller.workspaceId, config.integration_id);
    if (!integration) {
      throw refused(
        `Integration ID ${config.integration_id} not found. Create it with POST /v1/integrations/github.`,
      );
    }
    checkIntegrationHost(integration, config.repo_url);
  }
  const listener = config.listener_id
    ? await holdListener(tx, caller.workspaceId, config.listener_id)
    : undefined;
  if (config.listener_id && !listener) {
    throw refused(`Listener ID ${config.listener_id} not found. Create it with POST /v2/listeners.`);
  }
  const namespace = config.listener_config?.k8s_namespace ?? null;
  if (isNew && namespace !== null) requireListedNamespace(namespace, listener);
  if (secretReferences.length > 0) requireClusterSecrets(listener, rules);
  const { source_tarball_path: path } = revision;
  if (path && !(await holdUpload(tx, deploymentId, path))) {
    throw refused(
      "source_tarball_path must be an object_path that POST …/upload-url returned for this deployment, with the archive already uploaded.",
    );
  }
}

function requireListedNamespace(namespace: string, listener: Listener | undefined): void {
  const field = "source_config.listener_config.k8s_namespace";
  if (!listener)
    throw refused(
      `${field} is a namespace of a listener's cluster. Set listener_id with it, or leave it out: elsewhere TREADLE_KUBERNETES_NAMESPACE says where servers run.`,
    );
  if (!isInCluster(listener))
    throw refused(
      `${field} needs a listener with TREADLE_RUNTIME=kubernetes, and ${listener.compute_id} is none. Leave it out.`,
    );
  const listed = namespacesOf(listener);
  if (listed.includes(namespace)) return;
  const those = listed.length === 0 ? "it names none" : `it has ${listed.join(", ")}`;
  throw refused(
    `${field} must be in compute_config.k8s_namespaces of the listener ${listener.compute_id}: ${those}. Add ${JSON.stringify(namespace)} with PATCH /v2/listeners/${listener.id}, and to TREADLE_KUBERNETES_NAMESPACES of its process.`,
  );
}

/** Other runtimes would start the server without them. */
function requireClusterSecrets(
  listener: Listener | undefined,
  { readsClusterSecrets }: Pick<RuleSettings, "readsClusterSecrets">,
): void {
  if (listener ? isInCluster(listener) : readsClusterSecrets) return;
  const who = listener ? `the listener ${listener.compute_id} does not run` : "this server does not run";
  throw refused(
    `secret_references name Secrets of a Kubernetes cluster, and ${who} deployments with TREADLE_RUNTIME=kubernetes. Send the values as secrets.`,
  );
}
