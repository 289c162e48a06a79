import { createHash } from "node:crypto";
import type { BuildConfig } from "../desired-state/revision.ts";

export type ArtifactFacts = {
  /** What one workspace has built, its private sources above all, is never another's. */
  workspaceId: string;
  origin: { kind: "git"; url: string; commitSha: string } | { kind: "tarball"; sha256: string };
  configPath: string;
  buildConfig: Pick<BuildConfig, "install_command" | "build_command">;
  nodeModulesVersion: string;
  /** For projects with Python: by what, on what and with which Pythons to choose from. */
  python?: readonly string[] | undefined;
};

/** The same source built by the same commands for the same Node in the same workspace is the same artifact. */
export function artifactKey(facts: ArtifactFacts): string {
  const { origin, buildConfig } = facts;
  const parts = [
    facts.workspaceId,
    origin.kind === "git" ? ["git", origin.url, origin.commitSha] : ["tarball", origin.sha256],
    facts.configPath,
    buildConfig.install_command,
    buildConfig.build_command,
    facts.nodeModulesVersion,
    ...(facts.python === undefined ? [] : [facts.python]),
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
