import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../platform/errors.ts";
import type { CheckedUrl, NetworkGuard } from "../../platform/network-guard.ts";
import { runStep, StepFailed } from "./build-step.ts";
import { parseRepoUrl, refProblem } from "./repo-url.ts";

export type GitCredentials = { token: string } | { privateKey: string } | null;

export type GitSourceOptions = {
  network: NetworkGuard;
  /** Repositories on this machine's own disk. */
  allowLocal: boolean;
  /** A redirect leads past the check of the address. */
  followRedirects: boolean;
  environment: Record<string, string>;
};

type Place = { workFolder: string; timeoutMs: number; signal: AbortSignal; onLine(line: string): void };
type Repository = { url: string; ref: string | null; credentials: GitCredentials };

/** Where a private key lies while git reads a repository. */
export const sshKeyFile = "ssh_key";

const commitPattern = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

/** Reads repositories with git itself. Credentials travel in its environment, never in arguments. */
export function createGitSource(options: GitSourceOptions) {
  async function prepare(repository: Repository, place: Place) {
    const parsed = parseRepoUrl(repository.url);
    if ("problem" in parsed) throw refused(parsed.problem);
    if (parsed.kind === "local" && !options.allowLocal) {
      throw refused("Repositories on the server's own disk are permitted only while it listens on loopback.");
    }
    // The guard knows web addresses only; it looks at the name alone.
    const checked = parsed.kind === "http" ? await options.network.checkUrl(parsed.url) : null;
    if (parsed.kind === "ssh") await options.network.checkUrl(`https://${parsed.host}/`);
    const problem = repository.ref === null ? null : refProblem(repository.ref);
    if (problem) throw refused(`The ref ${JSON.stringify(repository.ref)} ${problem}.`);
    await mkdir(place.workFolder, { recursive: true });
    const settings: [string, string][] = [
      ["protocol.allow", "never"],
      [
        `protocol.${parsed.kind === "http" ? parsed.url.protocol.slice(0, -1) : parsed.kind === "ssh" ? "ssh" : "file"}.allow`,
        "always",
      ],
      ["core.hooksPath", "/dev/null"],
      ["core.fsmonitor", "false"],
      ["credential.helper", ""],
      ["http.followRedirects", options.followRedirects ? "initial" : "false"],
      ["http.lowSpeedLimit", "1000"],
      ["http.lowSpeedTime", "30"],
      ["advice.detachedHead", "false"],
      ["safe.directory", "*"],
    ];
    // git looks the name up again by itself; this keeps it to the addresses that were checked.
    if (checked && !options.followRedirects) settings.push(["http.curloptResolve", pinned(checked)]);
    const extra: Record<string, string> = {};
    const { credentials } = repository;
    if (credentials && "token" in credentials && parsed.kind === "http") {
      const basic = Buffer.from(`x-access-token:${credentials.token}`).toString("base64");
      settings.push([`http.${parsed.url.origin}/.extraHeader`, `Authorization: Basic ${basic}`]);
    }
    if (parsed.kind === "ssh") {
      const known = join(place.workFolder, "known_hosts");
      const key = join(place.workFolder, sshKeyFile);
      if (credentials && "privateKey" in credentials) {
        await writeFile(key, `${credentials.privateKey.trim()}\n`, { mode: 0o600 });
      }
      const identity = credentials && "privateKey" in credentials ? ` -i ${key} -o IdentitiesOnly=yes` : "";
      extra.GIT_SSH_COMMAND = `ssh -o BatchMode=yes -o ConnectTimeout=20 -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=${known}${identity}`;
    }
    const env: Record<string, string> = {
      ...options.environment,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_TERMINAL_PROMPT: "0",
      GIT_ASKPASS: "/bin/false",
      LC_ALL: "C",
      HOME: place.workFolder,
      ...extra,
      GIT_CONFIG_COUNT: String(settings.length),
    };
    settings.forEach(([key, value], index) => {
      env[`GIT_CONFIG_KEY_${index}`] = key;
      env[`GIT_CONFIG_VALUE_${index}`] = value;
    });
    const git = (args: string[], cwd = place.workFolder, timeoutMs = place.timeoutMs) =>
      runStep({ ...place, command: "git", args, cwd, env, timeoutMs });
    return { git, url: repository.url };
  }

  return {
    /** Only addresses that never may be used are refused here; whether anybody answers is found out in the build. */
    async checkAddress(repoUrl: string): Promise<void> {
      const parsed = parseRepoUrl(repoUrl);
      if ("problem" in parsed || parsed.kind === "local") return;
      const url = parsed.kind === "http" ? parsed.url : `https://${parsed.host}/`;
      await options.network.checkUrl(url).catch((error: unknown) => {
        if (error instanceof AppError && error.code === "network.address_refused") throw error;
      });
    },

    /** The commit a branch, tag or commit name stands for, without fetching anything. */
    async resolve(repository: Repository, place: Place): Promise<string> {
      const { git, url } = await prepare(repository, place);
      const { ref } = repository;
      if (ref !== null && commitPattern.test(ref)) return ref;
      const quiet = Math.min(place.timeoutMs, 60_000);
      const names = ref === null ? ["HEAD"] : refNames(ref);
      const lines = await explained(repository, () =>
        git(["ls-remote", "--quiet", "--", url, ...names], place.workFolder, quiet),
      );
      const found = new Map(
        lines.flatMap((line) => {
          const match = /^([0-9a-f]{40,64})\t(\S+)$/.exec(line);
          return match ? [[match[2]!, match[1]!] as const] : [];
        }),
      );
      for (const name of names) {
        const sha = found.get(name);
        if (sha !== undefined) return sha;
      }
      throw refused(
        ref === null
          ? `${url} has no commits yet. Push one, or name a branch in repo_ref.`
          : `${url} has no branch, tag or commit named ${ref}. Check repo_ref.`,
      );
    },

    /** The files of one commit, in a new folder, without the history. */
    async checkOut(repository: Repository & { commit: string }, folder: string, place: Place): Promise<void> {
      const { git, url } = await prepare(repository, place);
      await mkdir(folder, { recursive: true });
      await git(["init", "--quiet", folder]);
      const fetch = (args: string[]) => git(["fetch", "--quiet", "--no-tags", ...args], folder);
      await explained(repository, async () => {
        try {
          await fetch(["--depth", "1", "--", url, repository.commit]);
        } catch (error) {
          // Some servers give out only what a name points to; then everything is fetched.
          if (!(error instanceof StepFailed)) throw error;
          await fetch(["--", url, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"]);
        }
        await git(["checkout", "--quiet", "--detach", repository.commit], folder);
      });
    },
  };
}

export type GitSource = ReturnType<typeof createGitSource>;

function pinned({ url, hostname, addresses }: CheckedUrl): string {
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return `${hostname}:${port}:${addresses.map(({ address }) => address).join(",")}`;
}

/** What a short name may stand for, the likeliest first; an annotated tag's commit is behind `^{}`. */
function refNames(ref: string): string[] {
  if (ref.startsWith("refs/tags/")) return [`${ref}^{}`, ref];
  if (ref.startsWith("refs/") || ref === "HEAD") return [ref];
  return [`refs/heads/${ref}`, `refs/tags/${ref}^{}`, `refs/tags/${ref}`];
}

async function explained<T>(repository: Repository, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StepFailed) throw refused(gitProblem(repository, error.tail(8)));
    throw error;
  }
}

/** git's words, turned into what to do. */
function gitProblem({ url, ref, credentials }: Repository, said: string): string {
  if (/No space left|Out of diskspace|unable to write file/i.test(said)) {
    return "The disk of this machine is full. Free some space and deploy again.";
  }
  if (
    /Authentication failed|could not read Username|terminal prompts disabled|HTTP Basic: Access denied|error: 401|error: 403|Permission denied/i.test(
      said,
    )
  ) {
    return credentials === null
      ? `${url} asks for a credential. Create an integration with a token for it and name that in integration_id.`
      : `${url} refused the credential of the integration. Check that its token is valid and may read the repository.`;
  }
  if (/not found|does not exist|does not appear to be a git repository|error: 404/i.test(said)) {
    return `${url} is not a git repository, or the credential may not see it. Check repo_url and integration_id.`;
  }
  if (
    /Could not resolve host|Failed to connect|Connection refused|timed out|Couldn't connect|unable to access/i.test(
      said,
    )
  ) {
    return `${url} cannot be reached. Check repo_url, the network and the name of the host.\n${said}`;
  }
  if (
    /unadvertised object|not our ref|reference is not a tree|did not match|bad object|upload-pack: not our ref/i.test(
      said,
    )
  ) {
    return `${url} has no commit ${ref}. Check repo_ref.`;
  }
  return `git could not read ${url}:\n${said}`;
}

function refused(message: string): AppError {
  return new AppError({ code: "build.source_refused", kind: "invalid", message });
}
