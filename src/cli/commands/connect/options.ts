import type { GlobalOptions } from "../../program.ts";

export type ConnectOptions = GlobalOptions & {
  scope?: string[];
  agent?: string;
  user?: string;
  another?: boolean;
  browser: boolean;
  timeout: number;
};
export type RevokeOptions = GlobalOptions & { force?: boolean };
