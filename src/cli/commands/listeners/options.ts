import type { GlobalOptions } from "../../program.ts";

export type CreateListenerOptions = GlobalOptions & {
  type: "process" | "docker" | "k8s";
  /** False: --no-key. */
  key: boolean;
};
export type DeleteListenerOptions = GlobalOptions & { yes?: boolean };
