export const managers = ["npm", "pnpm", "yarn", "bun"] as const;
export type Manager = (typeof managers)[number];

export type InstallPlan = {
  /** Where it runs, from the root of the source. */
  folder: string;
  command: Manager;
  args: string[];
  because: string;
  /** What of the manager is needed; null leaves the choice to the machine. */
  version: string | null;
};

/** A folder on the way up from the config file, with what decides about installing. */
export type PackageFolder = {
  folder: string;
  files: ReadonlySet<string>;
  /** `packageManager` of its package.json. */
  packageManager?: string | undefined;
  /** Whether its yarn.lock is of the second generation or later. */
  modernYarn?: boolean | undefined;
};

const lockFiles: { file: string; command: Manager; args: string[] }[] = [
  { file: "package-lock.json", command: "npm", args: ["ci"] },
  { file: "npm-shrinkwrap.json", command: "npm", args: ["ci"] },
  { file: "pnpm-lock.yaml", command: "pnpm", args: ["install", "--frozen-lockfile"] },
  { file: "yarn.lock", command: "yarn", args: ["install", "--frozen-lockfile", "--non-interactive"] },
  { file: "bun.lock", command: "bun", args: ["install", "--frozen-lockfile"] },
  { file: "bun.lockb", command: "bun", args: ["install", "--frozen-lockfile"] },
];

/**
 * How to install, from the folders between the config file and the root, the config file's own first. A lock file
 * decides; in a monorepo it is further up than the package. Without one the nearest package.json is installed.
 */
export function planInstall(folders: readonly PackageFolder[]): InstallPlan | null {
  const asked = folders.map(({ packageManager }) => parsePackageManager(packageManager)).find((it) => it);
  const versionOf = (command: Manager) => (asked?.manager === command ? asked.version : null);
  for (const { folder, files, modernYarn } of folders) {
    if (!files.has("package.json")) continue;
    const lock = lockFiles.find(({ file }) => files.has(file));
    if (!lock) continue;
    const { command, file: because } = lock;
    if (command === "yarn" && modernYarn) {
      const version = versionOf("yarn") ?? defaultVersions.modernYarn;
      return { folder, command, args: ["install", "--immutable"], because, version };
    }
    return { folder, command, args: lock.args, because, version: versionOf(command) };
  }
  const nearest = folders.find(({ files }) => files.has("package.json"));
  if (!nearest) return null;
  const { folder } = nearest;
  const command = asked?.manager ?? "npm";
  const because = "package.json without a lock file";
  return { folder, command, args: ["install"], because, version: versionOf(command) };
}

/** `pnpm@9.1.0+sha512.…`, as a package.json names it. */
export function parsePackageManager(text: string | undefined): { manager: Manager; version: string } | null {
  const match = /^(npm|pnpm|yarn|bun)@(\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?)(?:\+.*)?$/.exec(text ?? "");
  return match ? { manager: match[1] as Manager, version: match[2]! } : null;
}

/** What is fetched where a project names no version. */
export const defaultVersions = { pnpm: "10", yarn: "1.22.22", modernYarn: "4", bun: "1" } as const;

export type ManagerPackage = {
  /** As npm installs it. */
  spec: string;
  /** Its program, from node_modules; `runs`: by Node or directly. */
  program: string;
  runs: "node" | "itself";
};

/** Where a package manager comes from; npm comes with Node. */
export function managerPackage(manager: Exclude<Manager, "npm">, version: string | null): ManagerPackage {
  if (manager === "pnpm") {
    return { spec: `pnpm@${version ?? defaultVersions.pnpm}`, program: "pnpm/bin/pnpm.cjs", runs: "node" };
  }
  if (manager === "bun") {
    return {
      spec: `bun@${version ?? defaultVersions.bun}`,
      program: `@oven/bun-linux-${process.arch === "arm64" ? "aarch64" : "x64"}/bin/bun`,
      runs: "itself",
    };
  }
  const wanted = version ?? defaultVersions.yarn;
  return /^[01]\./.test(wanted)
    ? { spec: `yarn@${wanted}`, program: "yarn/bin/yarn.js", runs: "node" }
    : { spec: `@yarnpkg/cli-dist@${wanted}`, program: "@yarnpkg/cli-dist/bin/yarn.js", runs: "node" };
}

/** The folder of the config file and those above it, up to the root (`""`). */
export function foldersUp(configFolder: string): string[] {
  const parts = configFolder.split("/").filter((part) => part !== "" && part !== ".");
  return parts.map((_, index) => parts.slice(0, parts.length - index).join("/")).concat("");
}
