import { isIP } from "node:net";
import type { CheckedUrl } from "../../../platform/network/network-guard.ts";
import type { GitCredentials } from "../build-request.ts";
import type { RepoUrl } from "./repo-url.ts";

type Reach = {
  repository: RepoUrl;
  credentials: GitCredentials;
  /** What the guard permitted; git connects to these addresses and to no others. */
  checked: CheckedUrl | null;
  ssh: { keyFile: string; knownHostsFile: string };
};

/** What git gets besides its arguments. Credentials are never arguments: every user of a machine sees those. */
export function gitEnvironment(reach: Reach, base: Record<string, string>, home: string) {
  const { repository, credentials, checked } = reach;
  const settings: [string, string][] = [
    ["protocol.allow", "never"],
    [`protocol.${protocolOf(repository)}.allow`, "always"],
    ["core.hooksPath", "/dev/null"],
    ["core.fsmonitor", "false"],
    ["credential.helper", ""],
    // A redirect leads past the check of the address, and git would take the credential along.
    ["http.followRedirects", "false"],
    ["http.lowSpeedLimit", "1000"],
    ["http.lowSpeedTime", "30"],
    ["advice.detachedHead", "false"],
    ["safe.directory", "*"],
    // Submodules are read one by one, each with its own checks.
    ["submodule.recurse", "false"],
    ["core.quotePath", "false"],
    ["fetch.recurseSubmodules", "false"],
  ];
  if (repository.kind === "http") {
    if (checked && isIP(checked.hostname.replace(/^\[|\]$/g, "")) === 0)
      settings.push(["http.curloptResolve", pinned(checked)]);
    if (credentials && "token" in credentials) {
      const basic = Buffer.from(`x-access-token:${credentials.token}`).toString("base64");
      settings.push([`http.${repository.url.origin}/.extraHeader`, `Authorization: Basic ${basic}`]);
    }
  }
  const env: Record<string, string> = {
    ...base,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    LC_ALL: "C",
    HOME: home,
    ...(repository.kind === "ssh" ? sshCommand(reach) : {}),
    GIT_CONFIG_COUNT: String(settings.length),
  };
  settings.forEach(([key, value], index) => {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  });
  return env;
}

function protocolOf(repository: RepoUrl): string {
  if (repository.kind === "local") return "file";
  return repository.kind === "ssh" ? "ssh" : repository.url.protocol.slice(0, -1);
}

function pinned({ url, hostname, addresses }: CheckedUrl): string {
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return `${hostname}:${port}:${addresses.map(({ address }) => address).join(",")}`;
}

/**
 * ssh connects to the address that was checked and verifies the host by its name. It uses no settings, keys or agents
 * of the user that runs the platform: they open that user's repositories, not those a workspace may read.
 */
function sshCommand({ repository, credentials, checked, ssh }: Reach): Record<string, string> {
  if (repository.kind !== "ssh") return {};
  const hasKey = credentials !== null && "privateKey" in credentials;
  const options = [
    "BatchMode=yes",
    "ConnectTimeout=20",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=2",
    "StrictHostKeyChecking=accept-new",
    `UserKnownHostsFile=${quoted(ssh.knownHostsFile)}`,
    "GlobalKnownHostsFile=/dev/null",
    "HashKnownHosts=no",
    "UpdateHostKeys=no",
    "CheckHostIP=no",
    "ProxyCommand=none",
    "PermitLocalCommand=no",
    "ClearAllForwardings=yes",
    "IdentityAgent=none",
    "IdentitiesOnly=yes",
    `IdentityFile=${hasKey ? quoted(ssh.keyFile) : "none"}`,
    `HostKeyAlias=${aliasOf(repository)}`,
    ...(checked ? [`HostName=${checked.addresses[0]!.address}`] : []),
  ];
  return {
    GIT_SSH_VARIANT: "ssh",
    GIT_SSH_COMMAND: ["ssh", "-F", "/dev/null", ...options.flatMap((option) => ["-o", option])].join(" "),
  };
}

/** Two servers on one host are two. */
function aliasOf({ host, port }: { host: string; port: number }): string {
  const name = host.replace(/[^A-Za-z0-9.-]/g, "_");
  return port === 22 ? name : `${name}.port-${port}`;
}

/** git hands the command to a shell. */
function quoted(path: string): string {
  return `'${path.replaceAll("'", `'\\''`)}'`;
}
