import type { Figures } from "./alert.ts";

type Window = { from: Date; to: Date };

/** What this area needs of the others; `projectId` null means the whole workspace. */
export type AlertSources = {
  /** Of root runs that began in the window. */
  runFigures(workspaceId: string, projectId: string | null, window: Window): Promise<Figures>;
  hasRuns(workspaceId: string, projectId: string | null, window: Window): Promise<boolean>;
  failedExports(workspaceId: string, projectId: string | null, window: Window): Promise<number>;
  /** Undefined when it is gone. */
  project(workspaceId: string, id: string): Promise<{ name: string } | undefined>;
  /** With the project its runs are traced in; null when there is none yet. */
  deployment(
    workspaceId: string,
    id: string,
  ): Promise<{ name: string; projectId: string | null; isAsleep?: boolean } | undefined>;
};
