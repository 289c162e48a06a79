import type { BuildConfig, SourceRevisionConfig } from "../desired-state/revision.ts";

/** `project`: what one of its commands printed. */
export type OnLine = (line: string, origin?: "platform" | "project") => void;

export type GitCredentials = { token: string } | { privateKey: string } | null;

export type BuildSource =
  | { kind: "git"; url: string; ref: string | null; commit: string | null; credentials: GitCredentials }
  /** `save` brings it into a new file, checked. */
  | { kind: "tarball"; sha256: string; save(file: string, signal: AbortSignal): Promise<void> };

/** Where a step of a build runs, for how long, and who reads what it prints. */
export type BuildPlace = {
  workFolder: string;
  timeoutMs: number;
  signal: AbortSignal;
  onLine: OnLine;
};

/** Asked for at each step: the time that is left grows less. */
export type PlaceOf = () => BuildPlace;

export type BuildRequest = {
  revisionId: string;
  workspaceId: string;
  /** Asked for once it is this build's turn to read. */
  source(signal: AbortSignal): Promise<BuildSource>;
  revisionConfig: SourceRevisionConfig;
  buildConfig: BuildConfig;
  signal: AbortSignal;
  onLine: OnLine;
  /** Called as soon as it is known, before it is known how the build ends. */
  onCommit(commitSha: string): Promise<void>;
  note(message: string, progress: number): Promise<void>;
};

export type Built = {
  artifactKey: string;
  path: string;
  commitSha: string | null;
  usesOwnAuth: boolean;
  cached: boolean;
};

/** What builds revisions, here or elsewhere. */
export type RevisionBuilder = {
  /** Whether a build continues when the process that follows it ends; the next process follows the same build. */
  outlivesPlatform: boolean;
  /** How many more builds could begin at once, when so many are begun. */
  room(begun: number): number;
  build(request: BuildRequest): Promise<Built>;
  /** The build of this revision is over, or not wanted any more: nothing of it stays. */
  clear(revisionId: string): Promise<void>;
  /** Everything that belongs to no build goes. */
  clearLeft(): Promise<void>;
};
