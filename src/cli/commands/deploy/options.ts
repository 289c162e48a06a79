import type { GlobalOptions } from "../../program.ts";

export type DeployOptions = GlobalOptions & {
  name?: string;
  config?: string;
  /** True: the repository of the folder. */
  git?: string | true;
  ref?: string;
  secret?: string[];
  /** `NAME=SECRET/KEY` of the cluster. */
  secretFrom?: string[];
  envFile?: string[];
  removeSecret?: string[];
  installCommand?: string;
  buildCommand?: string;
  /** Processors, and megabytes. */
  cpu?: number;
  memory?: number;
  /** The id of the listener that runs it. */
  listener?: string;
  wait: boolean;
  timeout: number;
};
