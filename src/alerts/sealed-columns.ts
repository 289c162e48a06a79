import type { SealedColumn } from "../platform/encryption/encryption-rotation.ts";

export const alertWebhookContext = (ruleId: string) => `alert_rules:webhook:${ruleId}`;

/** What this area keeps sealed; a rotation of the encryption key re-seals it. */
export const alertSealedColumns: readonly SealedColumn[] = [
  { table: "alert_rules", idColumns: ["id"], column: "webhook_sealed", context: alertWebhookContext },
];
