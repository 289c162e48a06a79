import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { createGitRepository, type GitFiles } from "./git-repository.ts";
import { ensureDebianPackages } from "./install-packages.ts";
import { runCommand } from "./run-command.ts";
import { createTempFolder } from "./temp-folder.ts";
import { waitUntil } from "./wait-until.ts";

/** Git over ssh: OpenSSH on loopback, with keys of its own, open to the one key it makes. */
export async function startSshGitServer() {
  await ensureDebianPackages(["git", "openssh-server", "openssh-client"]);
  const folder = await createTempFolder("ssh");
  const key = async (name: string) => {
    const path = join(folder.path, name);
    await runCommand("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path]);
    return path;
  };
  const hostKey = await key("host");
  const clientKey = await key("client");
  const strangerKey = await key("stranger");
  const authorized = join(folder.path, "authorized_keys");
  await writeFile(authorized, await readFile(`${clientKey}.pub`));
  const port = await freePort();
  const config = join(folder.path, "sshd_config");
  await writeFile(
    config,
    [
      ...[
        `Port ${port}`,
        "ListenAddress 127.0.0.1",
        `HostKey ${hostKey}`,
        `AuthorizedKeysFile ${authorized}`,
      ],
      ...["StrictModes no", "UsePAM no", "PasswordAuthentication no", "PermitRootLogin yes", "PidFile none"],
    ].join("\n"),
  );
  // Where it puts itself before anybody has logged in.
  if (process.getuid?.() === 0) await mkdir("/run/sshd", { recursive: true, mode: 0o755 });
  const child = spawn("/usr/sbin/sshd", ["-D", "-e", "-f", config], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  await waitUntil(() => answers(port), {
    what: "sshd to listen",
    timeoutMs: 20_000,
    intervalMs: 50,
    evidence: () => said,
  });
  return {
    privateKey: await readFile(clientKey, "utf8"),
    strangerKey: await readFile(strangerKey, "utf8"),
    async createRepository(name: string, files: GitFiles) {
      const path = join(folder.path, `${name}.git`);
      const url = `ssh://${userInfo().username}@127.0.0.1:${port}${path}`;
      const workFolder = join(folder.path, "work", name);
      return createGitRepository({ path, workFolder, url, authenticatedUrl: url }, files);
    },
    async stop() {
      child.kill("SIGTERM");
      if (child.exitCode === null) await new Promise((resolve) => child.once("exit", resolve));
      await folder.remove();
    },
  };
}

function answers(port: number): Promise<true | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("data", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(undefined));
  });
}
