import type { SealedColumn } from "../../platform/encryption/encryption-rotation.ts";

export function accessTokenContext(id: string): string {
  return `auth_tokens:${id}:access_token`;
}

export function refreshTokenContext(id: string): string {
  return `auth_tokens:${id}:refresh_token`;
}

export function pendingAccessTokenContext(id: string): string {
  return `auth_pending_revocations:${id}:access_token`;
}

export function pendingRefreshTokenContext(id: string): string {
  return `auth_pending_revocations:${id}:refresh_token`;
}

export function webhookSecretContext(workspaceId: string): string {
  return `auth_webhooks:${workspaceId}:secret`;
}

export const tokenSealedColumns: readonly SealedColumn[] = [
  { table: "auth_tokens", idColumns: ["id"], column: "access_token_sealed", context: accessTokenContext },
  { table: "auth_tokens", idColumns: ["id"], column: "refresh_token_sealed", context: refreshTokenContext },
  {
    table: "auth_pending_revocations",
    idColumns: ["id"],
    column: "access_token_sealed",
    context: pendingAccessTokenContext,
  },
  {
    table: "auth_pending_revocations",
    idColumns: ["id"],
    column: "refresh_token_sealed",
    context: pendingRefreshTokenContext,
  },
  {
    table: "auth_webhooks",
    idColumns: ["workspace_id"],
    column: "secret_sealed",
    context: webhookSecretContext,
  },
];
