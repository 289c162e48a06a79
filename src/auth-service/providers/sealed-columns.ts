import type { SealedColumn } from "../../platform/encryption/encryption-rotation.ts";

export function clientSecretContext(id: string): string {
  return `auth_providers:${id}:client_secret`;
}

export const providerSealedColumns: readonly SealedColumn[] = [
  {
    table: "auth_providers",
    idColumns: ["id"],
    column: "client_secret_sealed",
    context: clientSecretContext,
  },
];
