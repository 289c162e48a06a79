import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CheckedUrl, NetworkGuard } from "../../../platform/network/network-guard.ts";
import type { BuildPlace, GitCredentials } from "../build-request.ts";
import { runStep } from "../build-step.ts";
import { gitEnvironment } from "./git-environment.ts";
import { explained, sourceRefused } from "./git-problem.ts";
import { redirectTarget, wasRedirected } from "./git-redirect.ts";
import { hostOf, type RepoUrl, refProblem } from "./repo-url.ts";
import { untilAborted } from "./until-aborted.ts";

export type GitClientOptions = {
  network: NetworkGuard;
  /** Repositories on this machine's own disk. */
  allowLocal: boolean;
  environment: Record<string, string>;
  /** Where the keys of hosts are remembered, a file for each workspace. */
  knownHostsFolder: string;
};

/** A repository, where it is and with what it may be read. */
export type RepositoryAt = {
  at: RepoUrl;
  ref: string | null;
  credentials: GitCredentials;
  workspaceId: string;
};

/** Runs git with the credentials of one repository, kept to the address that was checked. */
export type RunGit = (
  args: string[],
  more?: { cwd?: string; timeoutMs?: number; onLine?(line: string): void },
) => Promise<string[]>;

const maxRedirects = 3;

/** Runs git itself against hosts that may be reached. */
export class GitClient {
  readonly #options: GitClientOptions;

  constructor(options: GitClientOptions) {
    this.#options = options;
  }

  /** Does the work where the repository is, or where its host redirects to. */
  async reach<T>(
    asked: RepositoryAt,
    place: BuildPlace,
    work: (git: RunGit, at: RepoUrl) => Promise<T>,
  ): Promise<T> {
    let { at } = asked;
    return explained({ ...asked, url: at.text }, async () => {
      for (let hops = 0; ; hops += 1) {
        try {
          return await work(await this.#prepare({ ...asked, at }, place), at);
        } catch (error) {
          if (at.kind !== "http" || hops === maxRedirects || !wasRedirected(error)) throw error;
          at = await redirectTarget(this.#options.network, at, asked.credentials, place.signal);
          place.onLine(`Redirected to ${at.text}`);
        }
      }
    });
  }

  async #prepare({ at, ref, credentials, workspaceId }: RepositoryAt, place: BuildPlace): Promise<RunGit> {
    const { knownHostsFolder, environment } = this.#options;
    const problem = ref === null ? null : refProblem(ref);
    if (problem) throw sourceRefused(`The ref ${JSON.stringify(ref)} ${problem}.`);
    const checked = await this.#check(at, place.signal);
    await mkdir(place.workFolder, { recursive: true });
    await mkdir(knownHostsFolder, { recursive: true, mode: 0o700 });
    const keyFile = join(place.workFolder, "ssh_key");
    const ssh = { keyFile, knownHostsFile: join(knownHostsFolder, workspaceId) };
    const env = gitEnvironment({ repository: at, credentials, checked, ssh }, environment, place.workFolder);
    return async (
      args,
      { cwd = place.workFolder, timeoutMs = place.timeoutMs, onLine = place.onLine } = {},
    ) => {
      const isKey = at.kind === "ssh" && credentials !== null && "privateKey" in credentials;
      try {
        if (isKey) await writeFile(keyFile, `${credentials.privateKey.trim()}\n`, { mode: 0o600 });
        return await runStep({ ...place, command: "git", args, cwd, env, timeoutMs, onLine });
      } finally {
        // Commands of the project, and later processes, must not find the key.
        if (isKey) await rm(keyFile, { force: true });
      }
    };
  }

  /** The address is looked up once; git is kept to what was found. */
  async #check(repository: RepoUrl, signal: AbortSignal): Promise<CheckedUrl | null> {
    if (repository.kind === "local") {
      if (this.#options.allowLocal) return null;
      throw sourceRefused(
        "Repositories on the server's own disk are permitted only while it listens on loopback.",
      );
    }
    const url = repository.kind === "http" ? repository.url : `https://${hostOf(repository)}/`;
    return untilAborted(signal, this.#options.network.checkUrl(url));
  }
}
