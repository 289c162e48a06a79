import { dirname } from "node:path";

/** Something of the machine that can be seen inside, at `to` or in its own place. */
export type Mount = { from: string; to?: string; writable?: boolean; optional?: boolean };

export type SandboxPlan = {
  /** Root makes the walls itself and changes the user inside; anybody else needs a user namespace. */
  asRoot: boolean;
  mounts: readonly Mount[];
  /** Links at the top of the file system, such as `/bin`. */
  links: readonly { at: string; target: string }[];
  /** Small files made for this sandbox, by the descriptors their text comes from. */
  files: readonly { fd: number; at: string }[];
  /** Null where no filter is known for the processor. */
  seccompFd: number | null;
  cwd: string;
  tmpBytes: number;
};

const shmBytes = 64 * 1024 * 1024;

/** The arguments of `bwrap`. They are handed over through a descriptor, so that no process list shows them. */
export function bubblewrapArguments(plan: SandboxPlan): string[] {
  const namespaces = ["--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"];
  const rights = plan.asRoot
    ? // What it takes to become somebody else, who then has none of it.
      [
        "--cap-drop",
        "ALL",
        ...["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"].flatMap((cap) => ["--cap-add", cap]),
      ]
    : ["--unshare-user", "--disable-userns"];
  const isTemporary = (path: string) => path.startsWith("/tmp/");
  const destinations = [...plan.mounts.map(({ from, to }) => to ?? from), ...plan.files.map(({ at }) => at)];
  const above = foldersAbove([...destinations, plan.cwd]);
  return [
    ...namespaces,
    ...rights,
    ...["--hostname", "agent"],
    ...above.filter((path) => !isTemporary(path)).flatMap(makeFolder),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...["--perms", "1777", "--size", String(shmBytes), "--tmpfs", "/dev/shm"],
    ...["--perms", "1777", "--size", String(plan.tmpBytes), "--tmpfs", "/tmp"],
    // Earlier they would be hidden by it.
    ...above.filter(isTemporary).flatMap(makeFolder),
    ...plan.links.flatMap(({ at, target }) => ["--symlink", target, at]),
    ...plan.mounts.flatMap(mountArguments),
    ...plan.files.flatMap(({ fd, at }) => ["--perms", "0444", "--ro-bind-data", String(fd), at]),
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...(plan.seccompFd === null ? [] : ["--seccomp", String(plan.seccompFd)]),
    ...["--chdir", plan.cwd],
  ];
}

function makeFolder(path: string): string[] {
  return ["--perms", "0755", "--dir", path];
}

function mountArguments({ from, to, writable, optional }: Mount): string[] {
  const kind = `${writable ? "--bind" : "--ro-bind"}${optional ? "-try" : ""}`;
  return [kind, from, to ?? from];
}

/** If `bwrap` created them, the user that runs the code could not access them. */
function foldersAbove(paths: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let folder = dirname(path); folder !== "/" && folder !== "."; folder = dirname(folder))
      folders.add(folder);
  }
  const made = ["/dev", "/proc"];
  return [...folders].filter((folder) => !made.includes(folder)).sort();
}
