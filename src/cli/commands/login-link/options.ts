import type { GlobalOptions } from "../../program.ts";

export type LoginLinkOptions = GlobalOptions & { email?: string };
