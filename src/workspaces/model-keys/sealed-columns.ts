import type { SealedColumn } from "../../platform/encryption/encryption-rotation.ts";

export function modelKeyContext(workspaceId: string, provider: string): string {
  return `model_keys:${workspaceId}:${provider}`;
}

export const modelKeySealedColumns: readonly SealedColumn[] = [
  {
    table: "model_keys",
    idColumns: ["workspace_id", "provider"],
    column: "key_sealed",
    context: (workspaceId = "", provider = "") => modelKeyContext(workspaceId, provider),
  },
];
