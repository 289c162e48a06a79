import { randomInt } from "node:crypto";
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
  /** A range for networks that no other daemon of these tests uses. */
  subnets: string;
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

/** A range of 256 addresses, so that daemons that run at once do not get in one another's way. */
function pickSubnets(): string {
  // A wide range: a program that used an earlier network may still listen there, so the next network must not get the same addresses.
  return `10.${randomInt(200, 250)}.0.0/16`;
}

/**
 * A Docker daemon of its own. It leaves the machine's firewall and routing alone: containers are published on
 * loopback and reach this machine, but nothing beyond it. With `walled` it has a network of its own instead, where
 * it routes and sets its firewall as it would on a server; its published ports are then not to be reached from here.
 */
export async function startDocker({ walled = false } = {}): Promise<Docker> {
  await ensureDebianPackages(["docker.io"]);
  if (process.getuid?.() !== 0) throw new Error("dockerd runs as root only: run these tests as root.");
  const folder = await createTempFolder("docker");
  const socketPath = join(folder.path, "docker.sock");
  const host = `unix://${socketPath}`;
  const flags = [
    ...["--data-root", join(folder.path, "data"), "--exec-root", join(folder.path, "exec")],
    ...["--pidfile", join(folder.path, "docker.pid"), "--host", host],
    ...(walled ? [] : ["--bridge", "none", "--iptables=false", "--ip-forward=false"]),
  ];
  const daemon = spawnProcess(
    walled ? "unshare" : DOCKERD,
    walled ? ["--net", "--", "sh", "-c", 'ip link set lo up && exec "$0" "$@"', DOCKERD, ...flags] : flags,
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
    subnets: pickSubnets(),
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
