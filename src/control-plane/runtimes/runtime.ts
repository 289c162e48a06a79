import type { Isolation } from "../sandbox/isolation.ts";
import type { Exit } from "./exit.ts";

/**
 * What a runtime knows a started server by; kept in the database, so that it is found again after a restart.
 * `announces` false: the server writes no ready file. Otherwise it writes `readyFileName` in the instance's folder.
 */
export type Handle = Record<string, unknown> & { announces?: unknown; image?: unknown };

/** An image by name, and what that name meant when it was first used. */
export type PinnedImage = { reference: string; digest: string };

export const readyFileName = "ready.json";

export type Resources = { memoryBytes: number | null; cpus: number | null };

export type StartSpec = {
  instanceId: string;
  deploymentId: string;
  workspaceId: string;
  port: number;
  /** The built project; null for an image. */
  folder: string | null;
  /** The project file, from that folder. */
  configPath: string;
  image: string | null;
  /** The image earlier starts of the revision ran in; this one takes the same, unless another is asked for by name. */
  pinned: PinnedImage | null;
  environment: Record<string, string>;
  /** Of this start alone; the server may write there, and writes `readyFileName` once it serves. */
  instanceFolder: string;
  /** Kept from one start of the deployment to the next; the server may write there. */
  home: string;
  logPath: string;
  resources: Resources;
};

/** What a server has used so far, and holds now. */
export type Usage = { cpuSeconds: number; memoryBytes: number };

/** Where deployed servers run. One suite of tests holds for every implementation. */
export type Runtime = {
  readonly name: string;
  /** Whether it can run what a build made, and whether it can run a ready image. */
  readonly runs: { built: boolean; images: boolean };
  /** What stands between deployed code and the rest of the machine. */
  isolation(): Promise<Isolation>;
  /** With containers the handle has `image`, the `PinnedImage` it runs in. */
  start(spec: StartSpec): Promise<Handle>;
  isRunning(handle: Handle): Promise<boolean>;
  /** Resolves with the way it ended. Works for a server another process of the platform started. */
  ended(handle: Handle, signal: AbortSignal): Promise<Exit>;
  /** Asks it to finish what it does and end. */
  stop(handle: Handle): Promise<void>;
  /** Ends it at once; returns when it is gone. */
  kill(handle: Handle): Promise<void>;
  /** What these servers use, those that are gone left out. */
  usages(handles: readonly Handle[]): Promise<Map<Handle, Usage>>;
  /** Finds a server that was started for this instance but whose handle was never kept. */
  find(instanceId: string): Promise<Handle | null>;
};
