import type { GlobalOptions } from "../../program.ts";

export type RevisionsOptions = GlobalOptions & { limit: number };
export type RollbackOptions = GlobalOptions & { wait: boolean; timeout: number };
