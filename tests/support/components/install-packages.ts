import { tmpdir } from "node:os";
import { join } from "node:path";
import { withFileLock } from "./file-lock.ts";
import { runCommand } from "./run-command.ts";

const INSTALL_TIMEOUT_MS = 10 * 60_000;

async function missingPackages(packages: string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const name of packages) {
    try {
      const { stdout } = await runCommand("dpkg-query", ["--status", name]);
      if (!/^Status: install ok installed$/m.test(stdout)) missing.push(name);
    } catch (error) {
      if (!(error instanceof Error && /is not installed/.test(error.message))) throw error;
      missing.push(name);
    }
  }
  return missing;
}

async function hasCommand(command: string): Promise<boolean> {
  return await runCommand("sh", ["-c", `command -v ${command}`]).then(
    () => true,
    () => false,
  );
}

async function install(packages: string[]): Promise<void> {
  const options = {
    env: { DEBIAN_FRONTEND: "noninteractive" },
    timeoutMs: INSTALL_TIMEOUT_MS,
  };
  await runCommand("apt-get", ["update", "-qq"], options);
  await runCommand(
    "apt-get",
    ["install", "-y", "-qq", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300", ...packages],
    options,
  );
}

/** Installs what is missing. Test files run in parallel, so one of them installs and the others wait. */
export async function ensureDebianPackages(packages: string[]): Promise<void> {
  const advice = (missing: string[]) =>
    `Install what this test needs: apt-get install --no-install-recommends ${missing.join(" ")}`;
  if (!(await hasCommand("dpkg-query")) || !(await hasCommand("apt-get"))) {
    throw new Error(`This machine has no Debian package tools. ${advice(packages)}`);
  }
  const missingAtFirst = await missingPackages(packages);
  if (missingAtFirst.length === 0) return;
  if (process.getuid?.() !== 0) {
    throw new Error(`Only root can install packages. ${advice(missingAtFirst)}`);
  }
  await withFileLock(join(tmpdir(), "treadle-test-packages.lock"), INSTALL_TIMEOUT_MS, async () => {
    const missing = await missingPackages(packages);
    if (missing.length === 0) return;
    try {
      await install(missing);
    } catch (error) {
      throw new Error(`Installing Debian packages failed. ${advice(missing)}`, { cause: error });
    }
  });
}
