import { AppError } from "../../../platform/errors.ts";
import type { SecretReference } from "../../desired-state/secret-references.ts";
import type { StartSpec } from "../runtime.ts";
import type { KubernetesApi, KubernetesObject } from "./api.ts";
import { installationLabel, manager } from "./objects.ts";

/** Whoever owns the cluster gives a Secret to a workspace with it; nobody else can set labels there. */
export const sharedWithLabel = "treadle.dev/shared-with";

/**
 * Refuses a start that names a Secret which is not for its workspace. The namespace may hold the platform's own Secrets
 * and those of other deployments, so a name alone opens nothing. It is asked before there is a pod: a pod would wait for
 * whatever gets the name later.
 */
export async function requireSharedSecrets(
  api: Pick<KubernetesApi, "describe">,
  namespace: string,
  { secretReferences = [], workspaceId }: Pick<StartSpec, "secretReferences" | "workspaceId">,
): Promise<void> {
  const names = [...new Set(secretReferences.map(({ secret_name }) => secret_name))];
  for (const name of names) {
    const found = await api.describe(`/api/v1/namespaces/${namespace}/secrets/${name}`, manager);
    if (found && isShared(found, workspaceId)) continue;
    const keys = secretReferences.filter(({ secret_name }) => secret_name === name);
    throw notShared({ name, namespace, workspaceId, keys });
  }
}

/** What Treadle made itself holds the environment of a server, or the token of a build: it is never shared. */
export function isShared({ metadata: { labels = {} } }: KubernetesObject, workspaceId: string): boolean {
  return labels[sharedWithLabel] === workspaceId && !(installationLabel in labels);
}

type Missing = { name: string; namespace: string; workspaceId: string; keys: readonly SecretReference[] };

/** The same words for a Secret that is not there and for one of others: names tell a tenant nothing. */
function notShared({ name, namespace, workspaceId, keys }: Missing): AppError {
  const literals = keys.map(({ secret_key }) => `--from-literal=${secret_key}=VALUE`).join(" ");
  const label = `${sharedWithLabel}=${workspaceId}`;
  return new AppError({
    code: "runtime.secret_missing",
    kind: "conflict",
    message:
      `The namespace ${namespace} has no Secret ${name} that is shared with this workspace. Make it, then deploy again: ` +
      `\`kubectl --namespace ${namespace} create secret generic ${name} ${literals}\`, and ` +
      `\`kubectl --namespace ${namespace} label secret ${name} ${label}\`.`,
  });
}
