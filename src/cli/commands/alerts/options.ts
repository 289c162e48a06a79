import type { GlobalOptions } from "../../program.ts";

/** What a rule may be given, when it is made and later. */
export type RuleOptions = GlobalOptions & {
  threshold?: number;
  /** Minutes. */
  window?: number;
  minRuns?: number;
  email?: string[];
  /** `-`: read from stdin. */
  webhook?: string;
};
export type CreateAlertOptions = RuleOptions & { kind: string; deployment?: string; project?: string };
export type SetAlertOptions = Omit<RuleOptions, "email" | "webhook"> & {
  name?: string;
  /** False: taken out. */
  email?: string[] | false;
  webhook?: string | false;
  enable?: boolean;
  disable?: boolean;
};
export type MuteOptions = GlobalOptions & { for: number };
export type AlertHistoryOptions = GlobalOptions & { limit: number };
export type DeleteAlertOptions = GlobalOptions & { yes?: boolean };
