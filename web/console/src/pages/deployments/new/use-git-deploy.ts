import { useMutation } from "@tanstack/react-query";
import { useRef } from "react";
import { ApiError, api } from "../../../api/client.ts";
import type { Answers } from "../../../api/wire.ts";
import type { Deployment, Secret } from "../deployment-api.ts";
import { type Common, commandsOf, listenerOf } from "./common-values.ts";
import { credentialFor } from "./credential-host.ts";
import { useOpenRevision } from "./use-open-revision.ts";

export type GitValues = Common & {
  repoUrl: string;
  repoRef: string;
  configPath: string;
  buildOnPush: boolean;
};

/** The credentials that clone it: none, an integration's, or those typed here. */
export type Access =
  | { kind: "public" }
  | { kind: "integration"; id: string }
  | { kind: "typed"; secret: string };

export type GitDeployment = { values: GitValues; access: Access; secrets: Secret[] };

/** Creates a deployment from git. What was typed to clone it becomes an integration: sealed, and never shown again. */
export function useGitDeploy() {
  // A second try after a refusal uses the integration of the first.
  const sealed = useRef<{ secret: string; host: string; id: string }>(undefined);
  const open = useOpenRevision();
  const integrationOf = async (access: Access, repoUrl: string): Promise<string | null> => {
    if (access.kind === "public") return null;
    if (access.kind === "integration") return access.id;
    const credential = credentialFor(repoUrl);
    if (credential === null) throw new Error("A token is for an address with https:// or ssh://.");
    const { kind, host, name } = credential;
    if (sealed.current?.secret === access.secret && sealed.current.host === host) return sealed.current.id;
    const made = await createIntegration({ name, host, [kind]: access.secret });
    // What was typed before led to no deployment.
    if (sealed.current) await api.delete(`/v1/integrations/github/${sealed.current.id}`);
    sealed.current = { secret: access.secret, host, id: made.id };
    return made.id;
  };
  return useMutation({
    mutationFn: async ({ values, access, secrets }: GitDeployment) => {
      const repoUrl = values.repoUrl.trim();
      return api.post<Deployment>("/v2/deployments", {
        name: values.name.trim(),
        source: "github",
        source_config: {
          repo_url: repoUrl,
          deployment_type: values.type,
          build_on_push: values.buildOnPush,
          integration_id: await integrationOf(access, repoUrl),
          listener_id: listenerOf(values),
          ...commandsOf(values),
        },
        source_revision_config: {
          repo_ref: values.repoRef.trim(),
          graph_config_path: values.configPath.trim(),
        },
        secrets,
      });
    },
    onSuccess: ({ id, name, latest_revision_id }) =>
      open({ name, deploymentId: id, revisionId: latest_revision_id }),
  });
}

type NewIntegration = { name: string; host: string; token?: string; ssh_private_key?: string };

/** Under a name that is free: the same repository may be entered with several credentials. */
export async function createIntegration(
  given: NewIntegration,
): Promise<Answers["create_github_integration"]> {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? given.name : `${given.name} (${number})`;
    try {
      return await api.post("/v1/integrations/github", { ...given, name });
    } catch (error) {
      const isTaken = error instanceof ApiError && error.code === "integration.name_taken";
      if (!isTaken || number === 20) throw error;
    }
  }
}
