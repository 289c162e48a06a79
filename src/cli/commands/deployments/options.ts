import type { GlobalOptions } from "../../program.ts";

export type DeploymentsOptions = GlobalOptions & {
  yes?: boolean;
  deleteProject?: boolean;
  shareSecrets?: boolean;
};
