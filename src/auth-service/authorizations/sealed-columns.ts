import type { SealedColumn } from "../../platform/encryption/encryption-rotation.ts";

export function codeVerifierContext(id: string): string {
  return `auth_authorizations:${id}:code_verifier`;
}

export function consentUrlContext(id: string): string {
  return `auth_authorizations:${id}:url`;
}

export const authorizationSealedColumns: readonly SealedColumn[] = [
  {
    table: "auth_authorizations",
    idColumns: ["id"],
    column: "code_verifier_sealed",
    context: codeVerifierContext,
  },
  { table: "auth_authorizations", idColumns: ["id"], column: "url_sealed", context: consentUrlContext },
];
