import { access, lstat, readFile, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Mount } from "./bubblewrap.ts";

/** What programs look for in `/etc`: names, certificates, the time zone, libraries. No accounts and no keys. */
const etcNames = [
  ...["resolv.conf", "hosts", "nsswitch.conf", "host.conf", "gai.conf", "services", "protocols"],
  ...["ssl", "pki", "ca-certificates", "crypto-policies", "localtime", "timezone", "os-release"],
  ...["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "mime.types", "fonts", "debian_version"],
];
const topFolders = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** Variables that name files or folders programs then read. */
const certificateVariables = [
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"],
];

export type MachineMounts = { mounts: Mount[]; links: { at: string; target: string }[] };

/** Programs, libraries and certificates of this machine, all of them read-only. */
export async function readMachineMounts(): Promise<MachineMounts> {
  const mounts: Mount[] = [{ from: "/usr" }, { from: "/nix/store", optional: true }];
  const links: MachineMounts["links"] = [];
  for (const path of topFolders) {
    const found = await lstat(path).catch(() => null);
    if (found?.isSymbolicLink()) links.push({ at: path, target: await readlink(path) });
    else if (found?.isDirectory()) mounts.push({ from: path });
  }
  for (const name of etcNames) mounts.push({ from: `/etc/${name}`, optional: true });
  return { mounts, links };
}

/** The Node that runs this process, with the npm that came with it. */
export async function nodeMounts(execPath: string = process.execPath): Promise<Mount[]> {
  const program = await realpath(execPath);
  const folder = dirname(program);
  const prefix = dirname(folder);
  const from = basename(folder) === "bin" && prefix !== "/" ? prefix : program;
  return from === "/usr" || from.startsWith("/usr/") ? [] : [{ from }];
}

/**
 * A package and its dependencies, without other content of its folder: that may be the data folder. Packages beside it
 * are found where Node finds them.
 */
export async function packageMounts(root: string): Promise<Mount[]> {
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { files?: string[] };
  const names = new Set(["package.json", "bin", "src", "dist", "migrations", ...(manifest.files ?? [])]);
  const wholeNames = [...names].filter((name) => !/[*!]/.test(name));
  const own: Mount[] = [...wholeNames, "node_modules"].map((name) => ({
    from: join(root, name),
    optional: true,
  }));
  const around = outermostModules(root);
  return around === null ? own : [...own, { from: around }];
}

function outermostModules(root: string): string | null {
  const parts = root.split("/");
  const place = parts.indexOf("node_modules");
  return place === -1 ? null : parts.slice(0, place + 1).join("/");
}

/** What the environment of this machine names. That of a deployment has its own secrets, which may name anything. */
export function certificatePaths(machine: Record<string, string>): string[] {
  return certificateVariables.flatMap((name) => machine[name] ?? []);
}

/** Those that are there. */
export async function certificateMounts(paths: readonly string[]): Promise<Mount[]> {
  const readable = await Promise.all(
    paths.map((path) =>
      access(path).then(
        () => [{ from: path }],
        () => [],
      ),
    ),
  );
  return readable.flat();
}
