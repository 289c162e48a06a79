import type { GlobalOptions } from "../../program.ts";

export type AgentOptions = GlobalOptions & {
  config?: string;
  port?: string;
  host?: string;
  databaseUrl?: string;
};
