import type { GlobalOptions } from "../../program.ts";

export type ListenerOptions = GlobalOptions & {
  platform?: string;
  listener?: string;
  runtime?: string;
  port?: string;
  host?: string;
  takeOver?: boolean;
  verbose?: boolean;
};
