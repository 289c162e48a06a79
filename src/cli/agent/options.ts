import type { GlobalOptions } from "../program.ts";

export type AgentOptions = GlobalOptions & {
  config?: string;
  port?: string;
  host?: string;
  databaseUrl?: string;
  verbose?: boolean;
  /** Whether the studio is opened in a browser, on a terminal. */
  open: boolean;
  /** A change of the project's files loads it anew. */
  reload?: boolean;
  /** It is one of the processes that a reloading server starts. */
  generation?: boolean;
};
