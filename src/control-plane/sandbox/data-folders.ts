import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";

/** Others pass through to what is theirs, and see nothing. */
const passable = 0o711;
const closed = 0o700;

/**
 * What lies below the folder of deployments, and whether users of deployments and builds have something of their own
 * in there. Every mode is decided here, whoever needs a folder first and whatever the umask is.
 */
const folders = {
  artifacts: passable,
  builds: passable,
  cache: passable,
  homes: passable,
  instances: passable,
  tools: passable,
  "known-hosts": closed,
  logs: closed,
  polls: closed,
  uploads: closed,
} as const;

export type DeploymentFolder = keyof typeof folders;

/** Makes them all; one that stands open too far or not far enough is set right. */
export async function prepareDeploymentFolders(root: string): Promise<void> {
  // An ordinary user runs everything itself: nobody else needs to pass.
  const isRoot = process.getuid?.() === 0;
  await makeFolder(root, isRoot ? passable : closed);
  for (const [name, mode] of Object.entries(folders)) {
    await makeFolder(join(root, name), isRoot ? mode : closed);
  }
}

/** `mkdir` alone takes the umask off the mode, and leaves the mode of what is there. */
export async function makeFolder(path: string, mode: number): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, mode);
}
