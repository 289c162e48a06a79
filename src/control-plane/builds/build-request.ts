import type { BuildConfig, SourceRevisionConfig } from "../desired-state/revision.ts";

/** `project`: what one of its commands printed. */
export type OnLine = (line: string, origin?: "platform" | "project") => void;

export type GitCredentials = { token: string } | { privateKey: string } | null;

export type BuildSource =
  | { kind: "git"; url: string; ref: string | null; commit: string | null; credentials: GitCredentials }
  | { kind: "tarball"; file: string; sha256: string };

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
  /** As soon as it is known, whatever becomes of the build. */
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
