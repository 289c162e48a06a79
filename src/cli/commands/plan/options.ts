import type { GlobalOptions } from "../../program.ts";

export type PlanOptions = GlobalOptions & { organization?: string };
