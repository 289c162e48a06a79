import type { GlobalOptions } from "../../program.ts";

export type AuditOptions = GlobalOptions & {
  since?: Date;
  action?: string;
  outcome?: string;
  limit: number;
};
