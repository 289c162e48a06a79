import type { SealedColumn } from "../../platform/encryption/encryption-rotation.ts";

export function installSecretContext(name: string): string {
  return `install_secrets:${name}`;
}

export function signingKeyContext(id: string): string {
  return `signing_keys:${id}`;
}

/** What this area keeps sealed; a rotation of the encryption key re-seals it. */
export const workspaceSealedColumns: readonly SealedColumn[] = [
  { table: "install_secrets", idColumns: ["name"], column: "value_sealed", context: installSecretContext },
  { table: "signing_keys", idColumns: ["id"], column: "private_jwk_sealed", context: signingKeyContext },
];
