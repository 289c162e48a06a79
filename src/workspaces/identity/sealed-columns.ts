import type { SealedColumn } from "../../platform/encryption/encryption-rotation.ts";

export function installSecretContext(name: string): string {
  return `install_secrets:${name}`;
}

export const identitySealedColumns: readonly SealedColumn[] = [
  { table: "install_secrets", idColumns: ["name"], column: "value_sealed", context: installSecretContext },
];
