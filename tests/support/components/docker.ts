import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fillContainerRoot } from "./container-root.ts";
import { ensureDebianPackages } from "./install-packages.ts";
import { spawnProcess } from "./process.ts";
import { killAll, processesNaming } from "./process-table.ts";
import { runCommand } from "./run-command.ts";
import { createTempFolder } from "./temp-folder.ts";

const DOCKERD = "/usr/sbin/dockerd";
const DOCKER = "/usr/bin/docker";

export interface Docker {
  socketPath: string;
  /** For DOCKER_HOST. */
  host: string;
  /** Runs the command line client against this daemon and returns its output. */
  run(args: string[], options?: { timeoutMs?: number; input?: string }): Promise<string>;
  /** Imports an image with this machine's Node, a shell and a few programs; returns its tag. */
  buildNodeImage(tag?: string): Promise<string>;
  stop(): Promise<void>;
}

/** The daemon leaves the host's network namespace mounted in its folder, which then cannot be removed. */
async function unmountBelow(folder: string): Promise<void> {
  const mounts = (await readFile("/proc/self/mountinfo", "utf8"))
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((mountPoint) => mountPoint.startsWith(`${folder}/`));
  for (const mountPoint of mounts.reverse()) await runCommand("umount", [mountPoint]);
}

/**
 * A Docker daemon of its own. It has no bridge and leaves the machine's firewall alone, so containers use
 * the host's network (`--network host`) or none.
 */
export async function startDocker(): Promise<Docker> {
  await ensureDebianPackages(["docker.io"]);
  if (process.getuid?.() !== 0) throw new Error("dockerd runs as root only: run these tests as root.");
  const folder = await createTempFolder("docker");
  const socketPath = join(folder.path, "docker.sock");
  const host = `unix://${socketPath}`;
  const daemon = spawnProcess(
    DOCKERD,
    [
      ...["--data-root", join(folder.path, "data"), "--exec-root", join(folder.path, "exec")],
      ...["--pidfile", join(folder.path, "docker.pid"), "--host", host],
      ...["--bridge", "none", "--iptables=false"],
    ],
    { name: "dockerd", cwd: folder.path },
  );
  const run: Docker["run"] = async (args, options) =>
    (await runCommand(DOCKER, ["--host", host, ...args], options)).stdout.trimEnd();

  const stop = async () => {
    try {
      if (!daemon.exit()) {
        const containers = await run(["ps", "--all", "--quiet"]);
        if (containers) await run(["rm", "--force", "--volumes", ...containers.split("\n")]);
      }
    } finally {
      await daemon.stop("SIGTERM", 20_000);
      // Each container has a shim that detaches from the daemon and knows the daemon's folder.
      await killAll(processesNaming(join(folder.path, "exec/containerd")));
    }
    await unmountBelow(folder.path);
    await folder.remove();
  };

  try {
    await daemon.waitForLine("API listen on", 60_000);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    socketPath,
    host,
    run,
    async buildNodeImage(tag = "treadle-test-node:latest") {
      const root = join(folder.path, "node-image");
      const archive = join(folder.path, "node-image.tar");
      await mkdir(root);
      await fillContainerRoot(root, [process.execPath, "/bin/sh", "/usr/bin/env", "/bin/cat", "/bin/ls"]);
      await runCommand("tar", ["--create", "--file", archive, "--directory", root, "."]);
      const path = "PATH=/usr/local/bin:/usr/bin:/bin";
      await run(["import", "--change", `ENV ${path}`, "--change", 'CMD ["node"]', archive, tag]);
      await runCommand("rm", ["-rf", root, archive]);
      return tag;
    },
    stop,
  };
}
