import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Without what it was measured on, a figure says nothing. */
export function describeMachine(postgresVersion: string): string {
  const processors = cpus();
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`;
  return [
    `${processors.length} cores (${processors[0]?.model.trim() ?? "unknown"}), ${memory}`,
    `${systemName()}, kernel ${release()}, Node ${process.version.slice(1)}, PostgreSQL ${postgresVersion}`,
  ].join("; ");
}

function systemName(): string {
  try {
    return /^PRETTY_NAME="(.*)"/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? platform();
  } catch {
    return platform();
  }
}

/** The version and the commit that is checked out, here or in another folder, and whether files differ from it. */
export function describeCode(folder = root): string {
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  try {
    const git = (...words: string[]) => execFileSync("git", words, { cwd: folder, encoding: "utf8" }).trim();
    const changed = git("status", "--porcelain", "--untracked-files=no") === "" ? "" : " with changes";
    return `${version}, commit ${git("rev-parse", "--short", "HEAD")}${changed}`;
  } catch {
    return `${version}, no git checkout`;
  }
}

export function loadNow(): string {
  return loadavg()[0]!.toFixed(1);
}
