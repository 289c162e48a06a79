import type { SecretReference } from "../desired-state/secret-references.ts";
import type { Endpoint } from "../endpoints/endpoint.ts";
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

/** Limits, and what a cluster sets aside for each replica; without the latter it is derived from the limits. */
export type Resources = {
  memoryBytes: number | null;
  cpus: number | null;
  requested?: { memoryBytes: number | null; cpus: number | null };
};

/** How many replicas a server may have. `external`: after the start somebody else decides how many. */
export type Scale = { min: number; max: number; by: "treadle" | "external" };

/** Of runtimes whose servers are one process or one container. */
export const oneReplica: Scale = { min: 1, max: 1, by: "treadle" };

export type StartSpec = {
  instanceId: string;
  deploymentId: string;
  revisionId: string;
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
  /** Where it is to run, where the runtime has `readsClusterSecrets`; null: as always. */
  namespace?: string | null;
  /** Further variables, where the runtime has `readsClusterSecrets`. */
  secretReferences?: readonly SecretReference[];
  /** Of this start alone; the server may write there, and writes `readyFileName` once it serves. */
  instanceFolder: string;
  /** Kept from one start of the deployment to the next; the server may write there. */
  home: string;
  logPath: string;
  resources: Resources;
  /** Where the runtime has `scale`; elsewhere there is one. */
  scale: Scale;
  /** Replicas of the server before it, which this one takes over from; it begins with as many, within its scale. */
  replicasBefore?: number;
};

/** What a server has used so far, and holds now. */
export type Usage = { cpuSeconds: number; memoryBytes: number };

/** A replica that went with the machine it was on. */
export type LostPod = { name: string; node: string };

/** What a runtime whose servers have their own endpoints sees of one. */
export type Observation = {
  endpoints: Endpoint[];
  /** At least as many take requests as the server must have. */
  ready: boolean;
  /** Why not, in words that follow "The server was not healthy:". */
  problem: string;
  /** Replaced by others; listed for as long as the runtime remembers them. */
  lost?: LostPod[];
};

/** Where deployed servers run. One suite of tests holds for every implementation. */
export type Runtime = {
  readonly name: string;
  /** Whether it can run what a build made, and whether it can run a ready image. */
  readonly runs: { built: boolean; images: boolean };
  /**
   * Its servers do not depend on this machine: they go on when the platform stops, and the process that manages
   * deployments next finds them again. A platform that stops only releases them.
   */
  readonly outlivesPlatform: boolean;
  /** Whether servers may have variables whose values are in Secrets of a cluster. */
  readonly readsClusterSecrets?: boolean;
  /** The host its servers take requests at; null where each has endpoints of its own, which the runtime writes down. */
  readonly host: string | null;
  /** What stands between deployed code and the rest of the machine. */
  isolation(): Promise<Isolation>;
  /**
   * With containers the handle has `image`, the `PinnedImage` it runs in. Aborted when another process decides about
   * servers: nothing more is done then, and that process finds what there is.
   */
  start(spec: StartSpec, signal: AbortSignal): Promise<Handle>;
  /** Where `host` is null: its endpoints, each time they change. */
  observe?(handle: Handle, signal: AbortSignal): AsyncIterable<Observation>;
  /** Ends what was started for no instance that lives; those are asked for after it has looked. */
  removeOthers?(live: () => Promise<ReadonlySet<string>>): Promise<void>;
  /** Where workspaces have places of their own: removes those of workspaces that are gone. */
  removeWorkspaces?(isGone: (workspaceId: string) => Promise<boolean>): Promise<void>;
  /** Where workspaces have limits there: brings those of places that are there up to date. */
  applyLimits?(): Promise<void>;
  isRunning(handle: Handle): Promise<boolean>;
  /** Resolves with the way it ended. Works for a server another process of the platform started. */
  ended(handle: Handle, signal: AbortSignal): Promise<Exit>;
  /**
   * Where a server may have several replicas: how many there are from now on. Zero ends it, as `stop` does. `busy`: what
   * each is doing, by the name of its endpoint; those that do least go first.
   */
  scale?(handle: Handle, replicas: number, busy?: ReadonlyMap<string, number>): Promise<void>;
  /** How many there are to be; null while that is not known. */
  replicas?(handle: Handle): number | null;
  /** Asks it to finish what it does and end. */
  stop(handle: Handle): Promise<void>;
  /** Ends it at once; returns when it is gone. */
  kill(handle: Handle): Promise<void>;
  /** What these servers use, those that are gone left out. */
  usages(handles: readonly Handle[]): Promise<Map<Handle, Usage>>;
  /** Finds a server that was started for this instance but whose handle was never kept. */
  find(instanceId: string): Promise<Handle | null>;
};
