import type { SealedColumn } from "../../platform/encryption/encryption-rotation.ts";

export function signingKeyContext(id: string): string {
  return `signing_keys:${id}`;
}

export const tokenSealedColumns: readonly SealedColumn[] = [
  { table: "signing_keys", idColumns: ["id"], column: "private_jwk_sealed", context: signingKeyContext },
];
