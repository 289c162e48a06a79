import { createHash } from "node:crypto";
import type { SecretReference } from "../desired-state/secret-references.ts";
import type { PinnedImage, Resources, Scale } from "./runtime.ts";

/** Where a server finds its database and the platform, and is found itself. */
export type Addresses = { database: string; own: string; traces: string | null };

/** What is known of a server only when it is started. */
export type LaunchPlace = { listenHost: string; port: number; home: string; instanceSecret: string };

export type LaunchSpec = {
  deploymentId: string;
  workspaceId: string;
  revisionId: string;
  attempt: number;
  folder: string | null;
  configPath: string;
  image: string | null;
  pinned: PinnedImage | null;
  resources: Resources;
  scale: Scale;
  /** What a server gets once, at its start; one that was started with others is replaced. */
  addresses: Addresses;
  /** The platform's key in its environment, if there is one. */
  tracingKeyId: string | null;
  environment(place: LaunchPlace): Record<string, string>;
  namespace?: string | null;
  secretReferences?: readonly SecretReference[];
  /** Cut out of what the server prints. */
  secrets: readonly string[];
};

/** Hashed, because the database's address holds its password. */
export function hashOf({ database, own, traces }: Addresses): string {
  return createHash("sha256")
    .update(JSON.stringify([database, own, traces]))
    .digest("hex");
}
