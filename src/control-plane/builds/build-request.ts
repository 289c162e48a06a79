import type { BuildConfig, SourceRevisionConfig } from "../desired-state/revision.ts";
import type { GitCredentials } from "./git-source.ts";

export type BuildSource =
  | { kind: "git"; url: string; ref: string | null; commit: string | null; credentials: GitCredentials }
  | { kind: "tarball"; file: string; sha256: string };

export type BuildRequest = {
  revisionId: string;
  workspaceId: string;
  /** Asked for once it is this build's turn to read. */
  source(signal: AbortSignal): Promise<BuildSource>;
  revisionConfig: SourceRevisionConfig;
  buildConfig: BuildConfig;
  signal: AbortSignal;
  onLine(line: string): void;
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
