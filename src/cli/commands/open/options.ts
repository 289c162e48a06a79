import type { GlobalOptions } from "../../program.ts";

export type OpenOptions = GlobalOptions & { browser: boolean };
