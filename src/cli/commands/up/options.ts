import type { GlobalOptions } from "../../program.ts";

export type UpOptions = GlobalOptions & { port?: string; host?: string; roles?: string; verbose?: boolean };
