export type InstallPlan = {
  /** Where it runs, from the root of the source. */
  folder: string;
  command: string;
  args: string[];
  because: string;
};

const lockFiles: { file: string; command: string; args: string[] }[] = [
  { file: "package-lock.json", command: "npm", args: ["ci"] },
  { file: "npm-shrinkwrap.json", command: "npm", args: ["ci"] },
  { file: "pnpm-lock.yaml", command: "pnpm", args: ["install", "--frozen-lockfile"] },
  { file: "yarn.lock", command: "yarn", args: ["install", "--frozen-lockfile"] },
  { file: "bun.lock", command: "bun", args: ["install", "--frozen-lockfile"] },
  { file: "bun.lockb", command: "bun", args: ["install", "--frozen-lockfile"] },
];

/**
 * How to install, from the folders between the config file and the root, the config file's own first. A lock file
 * decides; in a monorepo it is further up than the package. Without one the nearest package.json is installed.
 */
export function planInstall(
  folders: readonly { folder: string; files: ReadonlySet<string> }[],
): InstallPlan | null {
  for (const { folder, files } of folders) {
    if (!files.has("package.json")) continue;
    const lock = lockFiles.find(({ file }) => files.has(file));
    if (lock) return { folder, command: lock.command, args: lock.args, because: lock.file };
  }
  const nearest = folders.find(({ files }) => files.has("package.json"));
  return nearest
    ? {
        folder: nearest.folder,
        command: "npm",
        args: ["install"],
        because: "package.json without a lock file",
      }
    : null;
}

/** The folder of the config file and those above it, up to the root (`""`). */
export function foldersUp(configFolder: string): string[] {
  const parts = configFolder.split("/").filter((part) => part !== "" && part !== ".");
  return parts.map((_, index) => parts.slice(0, parts.length - index).join("/")).concat("");
}
