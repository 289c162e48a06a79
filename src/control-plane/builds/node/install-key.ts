import { createHash } from "node:crypto";
import { readFile, realpath, stat } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { exists } from "../../../platform/exists.ts";
import { findProgram } from "../../sandbox/find-program.ts";
import type { InstallPlan, PackageFolder } from "./package-manager.ts";
import { type InstallMachine, repeatableInstall } from "./repeatable-install.ts";

export type InstallFacts = {
  workspaceId: string;
  tree: string;
  plan: InstallPlan;
  /** From the config file's own up to the root. */
  folders: readonly PackageFolder[];
  /** Of the machine, as its commands see it. */
  environment: Record<string, string>;
};

/** What an install is known by, and the folders it makes, from its own. */
export type KnownInstall = { key: string; packages: string[] };

/** Raised when trees that earlier versions kept are not to be used any more. */
const edition = 2;

/** More is not read: it would hold up everything else of this process. */
const maxTextBytes = 5 * 1024 * 1024;

/** Null where the result may depend on more than what is in the key. */
export async function knownInstall(facts: InstallFacts): Promise<KnownInstall | null> {
  const { plan, tree, folders, environment, workspaceId } = facts;
  if (plan.command !== "npm" || plan.args.join(" ") !== "ci") return null;
  const place = folders.findIndex(({ folder }) => folder === plan.folder);
  const { files } = folders[place]!;
  // npm installs into what the first leads to, compiles the second, and looks for workspaces in the folders above.
  if (files.has("node_modules") || files.has("binding.gyp")) return null;
  if (folders.slice(place + 1).some((above) => above.files.has("package.json"))) return null;
  const locks = ["package-lock.json", "npm-shrinkwrap.json"].filter((name) => files.has(name));
  if (locks.length !== 1) return null;
  const names = ["package.json", locks[0]!, ...(files.has(".npmrc") ? [".npmrc"] : [])];
  const paths = names.map((name) => join(tree, plan.folder, name));
  const found = await Promise.all(paths.map((path) => stat(path)));
  if (!found.every((file) => file.isFile() && file.size <= maxTextBytes)) return null;
  const texts = await Promise.all(paths.map((path) => readFile(path, "utf8")));
  const [manifest = "", lock = "", npmrc = null] = texts;
  const libc = await libcHere();
  if (libc === null) return null;
  const machine: InstallMachine = { os: process.platform, cpu: process.arch, libc };
  const install = repeatableInstall({ manifest, lock, npmrc }, machine);
  // Programs in a `node_modules` above come first for scripts.
  if (!install || (install.runsScripts && plan.folder !== "")) return null;
  const tools = await describeTools(environment.PATH);
  if (!tools) return null;
  const { PATH: _, ...settings } = environment;
  const parts = [
    ...[edition, workspaceId, machine, tools, Object.entries(settings).sort()],
    ...[plan.folder, manifest, locks[0], lock, npmrc],
  ];
  const key = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
  return { key, packages: install.packages };
}

/** npm, every Node that may run it, their settings for everybody, and this start of the machine. Null where they cannot be told. */
async function describeTools(path = "/usr/bin:/bin"): Promise<unknown[] | null> {
  const npm = await findProgram("npm", path);
  if (npm === null) return null;
  const npmFolder = dirname(dirname(await realpath(npm)));
  const about = await textOf(join(npmFolder, "package.json"));
  if (about === null || !/"name":\s*"npm"/.test(about)) return null;
  // After a loss of power, files written shortly before may be empty: nothing is used beyond a start of the machine.
  const boot = await textOf("/proc/sys/kernel/random/boot_id");
  if (boot === null) return null;
  const nodes = await Promise.all(path.split(delimiter).map(describeNode));
  return [boot, npmFolder, about, await textOf(join(npmFolder, "npmrc")), nodes];
}

/** A sandbox may show another one than is first on this machine. */
async function describeNode(folder: string): Promise<unknown[] | null> {
  const program = await findProgram("node", folder);
  if (program === null) return null;
  const file = await realpath(program);
  const { size, mtimeMs } = await stat(file);
  return [file, size, mtimeMs, await textOf(join(dirname(dirname(file)), "etc", "npmrc"))];
}

function textOf(path: string): Promise<string | null> {
  return readFile(path, "utf8").catch(() => null);
}

const loaders: Record<string, { glibc: string; musl: string } | undefined> = {
  x64: { glibc: "/lib64/ld-linux-x86-64.so.2", musl: "/lib/ld-musl-x86_64.so.1" },
  arm64: { glibc: "/lib/ld-linux-aarch64.so.1", musl: "/lib/ld-musl-aarch64.so.1" },
};

/** Null where both or neither is there. Node's own report says it too, but it looks up the names of all connections. */
async function libcHere(): Promise<"glibc" | "musl" | null> {
  const loader = loaders[process.arch];
  if (process.platform !== "linux" || !loader) return null;
  const [glibc, musl] = await Promise.all([exists(loader.glibc), exists(loader.musl)]);
  if (glibc === musl) return null;
  return glibc ? "glibc" : "musl";
}
