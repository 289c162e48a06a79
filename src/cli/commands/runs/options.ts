import type { GlobalOptions } from "../../program.ts";

export type RunsOptions = GlobalOptions & { status?: string; limit: number };
export type StartOptions = GlobalOptions & {
  deployment?: string;
  input?: string;
  thread?: string;
  resume?: string;
};
