import type { SealedColumn } from "../platform/encryption-rotation.ts";
import { workspaceSealedColumns } from "../workspaces/sealed-columns.ts";

/** Everything any area keeps sealed. A column left out here would be lost with the key a rotation retires. */
export const sealedColumns: readonly SealedColumn[] = [...workspaceSealedColumns];
