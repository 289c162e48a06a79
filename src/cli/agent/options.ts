import type { GlobalOptions } from "../program.ts";

export type AgentOptions = GlobalOptions & {
  config?: string;
  port?: string;
  host?: string;
  databaseUrl?: string;
  verbose?: boolean;
  /** Whether the studio is opened in a browser, on a terminal. */
  open: boolean;
  /** Reload the project when its files change. */
  reload?: boolean;
  /** It is one of the processes that a reloading server starts. */
  generation?: boolean;
};
