import { once } from "node:events";
import { text } from "node:stream/consumers";
import { type Launch, startEnclosed } from "./enclosed-process.ts";
import { systemId } from "./system-user.ts";
import type { Enclosure } from "./walls.ts";

export type ProbeResult = { works: true } | { works: false; reason: string; fix: string };

const timeoutMs = 10_000;
const install = "Install it: apt install bubblewrap (or the package of your system).";
const permit =
  "Allow this user to create user namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces, " +
  "kernel.apparmor_restrict_unprivileged_userns=0), or in a container run it with a seccomp profile that permits them; docs/security.md.";

/** Reports its uid, processes and folders. A sandbox that starts but shows this machine's processes is none. */
const script = `const fs = require("node:fs");
process.stdout.write(JSON.stringify({
  uid: process.getuid(),
  pids: fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).length,
  top: fs.readdirSync("/"),
}));`;
const expectedTop = [
  "bin",
  "dev",
  "etc",
  "lib",
  "lib32",
  "lib64",
  "libx32",
  "nix",
  "proc",
  "sbin",
  "tmp",
  "usr",
];

/** Starts Node in a sandbox and asks it what it sees: kernels, containers and policies refuse in many ways. */
export async function probeSandbox(
  bubblewrap: string | null,
  enclose: (enclosure: Enclosure) => Promise<Launch>,
): Promise<ProbeResult> {
  if (process.platform !== "linux") {
    return { works: false, reason: "sandboxes need Linux", fix: "Run Treadle on Linux." };
  }
  if (bubblewrap === null) return { works: false, reason: "bubblewrap is not installed", fix: install };
  const uid = systemId("probe");
  const launch = await enclose({
    command: [process.execPath, "-e", script],
    cwd: "/",
    environment: { PATH: "/usr/bin:/bin" },
    user: { uid, gid: uid },
    home: "/",
    mounts: [],
  });
  const { child, begin } = startEnclosed(launch, ["ignore", "pipe", "pipe"]);
  const timer = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, "SIGKILL"), timeoutMs);
  try {
    const ended = once(child, "close") as Promise<[number | null, string | null]>;
    begin();
    const [output, complaint, [code, signal]] = await Promise.all([
      text(child.stdout!),
      text(child.stderr!),
      ended,
    ]);
    if (code !== 0) {
      const why = complaint.trim().split("\n").at(-1) || signal || `exit code ${code}`;
      return { works: false, reason: `this machine refuses a sandbox (${why})`, fix: permit };
    }
    return judge(output, uid);
  } catch (error) {
    return {
      works: false,
      reason: `a sandbox cannot be started (${(error as Error).message})`,
      fix: install,
    };
  } finally {
    clearTimeout(timer);
  }
}

function judge(output: string, uid: number): ProbeResult {
  const seen = JSON.parse(output) as { uid: number; pids: number; top: string[] };
  const foreign = seen.top.filter(
    (name) => !expectedTop.includes(name) && !process.execPath.startsWith(`/${name}/`),
  );
  const expectedUid = process.getuid?.() === 0 ? uid : process.getuid?.();
  if (seen.uid === expectedUid && seen.pids <= 4 && foreign.length === 0) return { works: true };
  const reason = `a sandbox here does not hold: it runs as user ${seen.uid}, sees ${seen.pids} processes and ${foreign.join(", ") || "no foreign folder"}`;
  return { works: false, reason, fix: permit };
}
