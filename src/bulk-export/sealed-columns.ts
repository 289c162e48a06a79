import type { SealedColumn } from "../platform/encryption/encryption-rotation.ts";
import { destinationContext } from "./destinations/destination.ts";

/** What this area keeps sealed; a rotation of the encryption key re-seals it. */
export const bulkExportSealedColumns: readonly SealedColumn[] = [
  {
    table: "bulk_export_destinations",
    idColumns: ["id"],
    column: "credentials_sealed",
    context: destinationContext,
  },
];
