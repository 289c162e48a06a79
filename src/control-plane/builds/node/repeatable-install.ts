/** The texts that decide what `npm ci` makes; null: there is no such file. */
export type InstallTexts = { manifest: string; lock: string; npmrc: string | null };

/** Where it is installed, in the words of a package's own `os`, `cpu` and `libc`. */
export type InstallMachine = { os: string; cpu: string; libc: string };

/** What `npm ci` is to make: folders of packages, from the folder of the lock file. */
export type RepeatableInstall = { packages: string[]; runsScripts: boolean };

type LockedPackage = Record<string, unknown>;

/** Those of a project that `npm ci` runs by itself. */
const ownScripts = [
  ...["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"],
];

/** Packages whose scripts look at nothing but packages: esbuild puts its program in place, protobufjs compares versions. */
const harmlessScripts = new Set(["esbuild", "protobufjs"]);

/** Of npm's settings those that name no further file and no program. */
const plainSettings = new Set([
  ...[
    "registry",
    "omit",
    "include",
    "legacy-peer-deps",
    "strict-peer-deps",
    "engine-strict",
    "audit",
    "fund",
  ],
  ...["loglevel", "progress", "prefer-offline", "save-exact", "save-prefix", "always-auth", "strict-ssl"],
  ...["fetch-retries", "fetch-timeout", "maxsockets", "ignore-scripts", "update-notifier"],
]);

/**
 * Null unless the result of `npm ci` follows from these texts alone: every package is fixed by its checksum, and no script
 * runs that could read other files of the project. So a build cannot choose what another one gets.
 */
export function repeatableInstall(texts: InstallTexts, machine: InstallMachine): RepeatableInstall | null {
  const manifest = parse(texts.manifest);
  const lock = parse(texts.lock);
  // With an older one npm looks for scripts in every package.
  if (!manifest || !isRecord(lock?.packages) || !(Number(lock.lockfileVersion) >= 2)) return null;
  if (manifest.workspaces !== undefined || !hasPlainSettings(texts.npmrc ?? "")) return null;
  const { scripts } = manifest;
  if (scripts !== undefined && (!isRecord(scripts) || ownScripts.some((name) => scripts[name] !== undefined)))
    return null;
  const install: RepeatableInstall = { packages: [], runsScripts: false };
  const all = new Map(Object.entries(lock.packages));
  const esbuilds = new Set<unknown>();
  const esbuildPrograms = new Set<unknown>();
  for (const [path, locked] of all) {
    if (path === "") continue;
    if (!isRecord(locked) || !isBelowModules(path)) return null;
    const holder = all.get(path.slice(0, Math.max(0, path.lastIndexOf("/node_modules/"))));
    // It is left out with what it came in.
    if (locked.inBundle === true && isRecord(holder) && isForOthers(holder, machine)) continue;
    if (!isFixed(locked)) return null;
    if (isForOthers(locked, machine)) continue;
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    if (locked.hasInstallScript) {
      if (locked.name !== undefined || !harmlessScripts.has(name)) return null;
      install.runsScripts = true;
      if (name === "esbuild") esbuilds.add(locked.version);
    }
    if (name === `@esbuild/${machine.os}-${machine.cpu}`) esbuildPrograms.add(locked.version);
    install.packages.push(path);
  }
  // Without its program in the lock file it fetches one, which no checksum fixes.
  return [...esbuilds].every((version) => esbuildPrograms.has(version)) ? install : null;
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** Others are folders of the project itself. */
function isBelowModules(path: string): boolean {
  return path.startsWith("node_modules/") && !path.split("/").some((part) => part === ".." || part === ".");
}

/**
 * Not a link, a folder or a commit. What should be in the archive of another package is fetched without a checksum where it
 * is not there, and its scripts run unannounced. What a package's own lock file names counts more than this one.
 */
function isFixed({ link, scripts, inBundle, hasShrinkwrap, integrity, ...locked }: LockedPackage): boolean {
  if (link || scripts !== undefined || inBundle || hasShrinkwrap) return false;
  const isFixed = typeof integrity === "string" && /^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity);
  return isFixed && isFromRegistry(locked);
}

/** A lock file may leave the address out (`omit-lockfile-registry-resolved`): then it is the registry's, by its version. */
function isFromRegistry({ resolved, version }: LockedPackage): boolean {
  if (resolved === undefined) return typeof version === "string" && /^\d+\.\d+\.\d[\w.+-]*$/.test(version);
  return typeof resolved === "string" && /^https?:\/\//.test(resolved);
}

/** npm leaves it out here. */
function isForOthers({ optional, os, cpu, libc }: LockedPackage, machine: InstallMachine): boolean {
  if (optional !== true) return false;
  return excludes(os, machine.os) || excludes(cpu, machine.cpu) || excludes(libc, machine.libc);
}

/** A list with exceptions (`!win32`) may be meant in more than one way. */
function excludes(list: unknown, here: string): boolean {
  if (!Array.isArray(list) || list.some((word) => typeof word !== "string" || word.startsWith("!")))
    return false;
  return !list.includes(here) && !list.includes("any");
}

function hasPlainSettings(npmrc: string): boolean {
  return npmrc.split(/\r\n|\r|\n/).every((line) => {
    const text = line.trim();
    if (text === "" || /^[#;]/.test(text)) return true;
    const name = text.split("=", 1)[0]!.trim();
    return plainSettings.has(name) || /^@[\w.-]+:registry$/.test(name) || isCredential(name);
  });
}

/** No two parts that follow each other match the same: a long line would take hours. */
const isCredential = (name: string) =>
  /^\/\/[^\s:]+(:\d[^\s:]*)?:(_authToken|_auth|username|_password|email|always-auth)$/.test(name);

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
