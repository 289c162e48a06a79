import type { SealedColumn } from "../../platform/encryption/encryption-rotation.ts";

export const deploymentSecretsContext = (id: string) => `deployments.secrets:${id}`;
export const deploymentDatabaseContext = (id: string) => `deployments.database:${id}`;
export const revisionSecretsContext = (id: string) => `revisions.secrets:${id}`;
export const instanceSecretContext = (id: string) => `deployment_instances.secret:${id}`;
export const buildPodTokenContext = (id: string) => `build_pods.token:${id}`;
export const integrationCredentialsContext = (id: string) => `git_integrations.credentials:${id}`;
export const integrationWebhookContext = (id: string) => `git_integrations.webhook:${id}`;
export const tracingKeyContext = (deploymentId: string) => `deployment_tracing_keys:${deploymentId}`;

/** What this area keeps sealed; a rotation of the encryption key re-seals it. */
export const controlPlaneSealedColumns: readonly SealedColumn[] = [
  { table: "deployments", idColumns: ["id"], column: "secrets_sealed", context: deploymentSecretsContext },
  {
    table: "deployments",
    idColumns: ["id"],
    column: "database_password_sealed",
    context: deploymentDatabaseContext,
  },
  { table: "revisions", idColumns: ["id"], column: "secrets_sealed", context: revisionSecretsContext },
  {
    table: "deployment_instances",
    idColumns: ["id"],
    column: "secret_sealed",
    context: instanceSecretContext,
  },
  { table: "build_pods", idColumns: ["id"], column: "token_sealed", context: buildPodTokenContext },
  {
    table: "git_integrations",
    idColumns: ["id"],
    column: "credentials_sealed",
    context: integrationCredentialsContext,
  },
  {
    table: "git_integrations",
    idColumns: ["id"],
    column: "webhook_secret_sealed",
    context: integrationWebhookContext,
  },
  {
    table: "deployment_tracing_keys",
    idColumns: ["deployment_id"],
    column: "key_sealed",
    context: tracingKeyContext,
  },
];
