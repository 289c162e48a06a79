import type { GlobalOptions } from "../../program.ts";

export type LogsOptions = GlobalOptions & {
  follow?: boolean;
  build?: boolean;
  revision?: string;
  level?: string;
  search?: string;
  since?: Date;
  lines: number;
};
