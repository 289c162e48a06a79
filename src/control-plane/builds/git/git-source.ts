import { AppError } from "../../../platform/errors.ts";
import type { NetworkGuard } from "../../../platform/network/network-guard.ts";
import type { BuildPlace, GitCredentials } from "../build-request.ts";
import { type CheckOutLimits, GitCheckout } from "./git-checkout.ts";
import { GitClient, type GitClientOptions } from "./git-client.ts";
import { sourceRefused } from "./git-problem.ts";
import { commitPattern, hostOf, parseRepoUrl, type RepoUrl } from "./repo-url.ts";

export type Repository = {
  url: string;
  ref: string | null;
  credentials: GitCredentials;
  workspaceId: string;
};

/** Reads repositories with git itself. */
export class GitSource {
  readonly #network: NetworkGuard;
  readonly #client: GitClient;

  constructor(options: GitClientOptions) {
    this.#network = options.network;
    this.#client = new GitClient(options);
  }

  /** Only addresses that never may be used are refused here; whether anybody answers is found out in the build. */
  async checkAddress(repoUrl: string): Promise<void> {
    const parsed = parseRepoUrl(repoUrl);
    if ("problem" in parsed || parsed.kind === "local") return;
    const url = parsed.kind === "http" ? parsed.url : `https://${hostOf(parsed)}/`;
    await this.#network.checkUrl(url).catch((error: unknown) => {
      if (error instanceof AppError && error.code === "network.address_refused") throw error;
    });
  }

  /** The commit of a branch, tag or commit name, without fetching anything. */
  async resolve(repository: Repository, place: BuildPlace): Promise<string> {
    const at = parse(repository.url);
    const { ref } = repository;
    if (ref !== null && commitPattern.test(ref)) return ref;
    const timeoutMs = Math.min(place.timeoutMs, 60_000);
    const names = ref === null ? ["HEAD"] : refNames(ref);
    const lines: string[] = [];
    await this.#client.reach({ ...repository, at }, place, (git, { text }) =>
      git(["ls-remote", "--quiet", "--", text, ...names], {
        timeoutMs,
        onLine(line) {
          if (!/^[0-9a-f]{40,64}\t/.test(line)) place.onLine(line);
          else if (lines.length < 100) lines.push(line);
        },
      }),
    );
    const sha = firstOf(names, lines);
    if (sha !== undefined) return sha;
    throw sourceRefused(
      ref === null
        ? `${at.text} has no commits yet. Push one, or name a branch in repo_ref.`
        : `${at.text} has no branch, tag or commit named ${ref}. Check repo_ref.`,
    );
  }

  /** The files of one commit and of its submodules, in a new folder, without the history. */
  async checkOut(
    repository: Repository & { commit: string },
    folder: string,
    place: BuildPlace,
    limits: CheckOutLimits,
  ): Promise<{ lfsPointers: string[] }> {
    const checkout = new GitCheckout({ client: this.#client, folder, place, limits });
    return checkout.run({ ...repository, at: parse(repository.url) });
  }
}

function parse(url: string): RepoUrl {
  const parsed = parseRepoUrl(url);
  if ("problem" in parsed) throw sourceRefused(parsed.problem);
  return parsed;
}

/** What a short name may stand for, the likeliest first; an annotated tag's commit is behind `^{}`. */
function refNames(ref: string): string[] {
  if (ref.startsWith("refs/tags/")) return [`${ref}^{}`, ref];
  if (ref.startsWith("refs/") || ref === "HEAD") return [ref];
  return [`refs/heads/${ref}`, `refs/tags/${ref}^{}`, `refs/tags/${ref}`];
}

/** The commit of the first of the names that the remote listed. */
function firstOf(names: readonly string[], listed: readonly string[]): string | undefined {
  const found = new Map(
    listed.flatMap((line) => {
      const match = /^([0-9a-f]{40,64})\t(\S+)$/.exec(line);
      return match ? [[match[2]!, match[1]!] as const] : [];
    }),
  );
  return names.map((name) => found.get(name)).find((sha) => sha !== undefined && commitPattern.test(sha));
}
