import type { SealedColumn } from "../platform/encryption/encryption-rotation.ts";
import { authorizationSealedColumns } from "./authorizations/sealed-columns.ts";
import { providerSealedColumns } from "./providers/sealed-columns.ts";
import { tokenSealedColumns } from "./tokens/sealed-columns.ts";

/** What this area keeps sealed; a rotation of the encryption key re-seals it. */
export const authServiceSealedColumns: readonly SealedColumn[] = [
  ...providerSealedColumns,
  ...tokenSealedColumns,
  ...authorizationSealedColumns,
];
