import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";

/** Others pass through to what is theirs, and see nothing. */
const passable = 0o711;
const closed = 0o700;

/**
 * The folders below the folder of deployments, and whether users of deployments and builds own something in them. Every
 * mode is decided here, independent of the umask and of which code needs a folder first.
 */
const folders = {
  artifacts: passable,
  builds: passable,
  cache: passable,
  homes: passable,
  instances: passable,
  tools: passable,
  installed: closed,
  "known-hosts": closed,
  logs: closed,
  polls: closed,
  uploads: closed,
} as const;

export type DeploymentFolder = keyof typeof folders;

/** Makes them all, and corrects the mode of those that exist. */
export async function prepareDeploymentFolders(root: string): Promise<void> {
  // Without root, everything runs as one user: no other user needs to pass.
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
