import { alertSealedColumns } from "../../../alerts/sealed-columns.ts";
import { authServiceSealedColumns } from "../../../auth-service/sealed-columns.ts";
import { bulkExportSealedColumns } from "../../../bulk-export/sealed-columns.ts";
import { controlPlaneSealedColumns } from "../../../control-plane/encryption/sealed-columns.ts";
import type { SealedColumn } from "../../../platform/encryption/encryption-rotation.ts";
import { idempotencySealedColumns } from "../../../platform/http/idempotency/idempotency-store.ts";
import { workspaceSealedColumns } from "../../../workspaces/sealed-columns.ts";

/** Everything any area keeps sealed. A column left out here would be lost with the key a rotation retires. */
export const sealedColumns: readonly SealedColumn[] = [
  ...idempotencySealedColumns,
  ...workspaceSealedColumns,
  ...controlPlaneSealedColumns,
  ...authServiceSealedColumns,
  ...bulkExportSealedColumns,
  ...alertSealedColumns,
];
