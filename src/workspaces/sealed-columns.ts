import type { SealedColumn } from "../platform/encryption/encryption-rotation.ts";
import { identitySealedColumns } from "./identity/sealed-columns.ts";
import { modelKeySealedColumns } from "./model-keys/sealed-columns.ts";
import { tokenSealedColumns } from "./tokens/sealed-columns.ts";

/** What this area keeps sealed; a rotation of the encryption key re-seals it. */
export const workspaceSealedColumns: readonly SealedColumn[] = [
  ...identitySealedColumns,
  ...tokenSealedColumns,
  ...modelKeySealedColumns,
];
