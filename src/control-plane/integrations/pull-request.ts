import { commitPattern, refProblem } from "../builds/git/repo-url.ts";
import { repositoryKey } from "./integration.ts";

export type PullRequest = {
  action: "build" | "remove";
  number: number;
  branch: string;
  commitSha: string;
  /** Of the repository it is to be merged into. */
  repositoryUrls: string[];
  /** Its code comes from another repository: its author may be a stranger. */
  isFork: boolean;
};

const actions: Readonly<Record<string, PullRequest["action"]>> = {
  opened: "build",
  reopened: "build",
  synchronize: "build",
  closed: "remove",
};

type Json = Record<string, unknown>;
const part = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});

const urlsOf = (repository: Json) =>
  ["clone_url", "ssh_url", "html_url", "git_url", "url"]
    .map((name) => repository[name])
    .filter((url): url is string => typeof url === "string");

/** A change of a pull request that its preview follows, or null: labels, reviews and the like. */
export function readPullRequest(body: Json): PullRequest | { problem: string } | null {
  const action = actions[String(body.action)];
  if (action === undefined) return null;
  const request = part(body.pull_request);
  const head = readHead(body.number, request);
  if ("problem" in head) return { problem: head.problem };
  return { action, ...head.request, repositoryUrls: urlsOf(part(part(request.base).repo)) };
}

type Head = Pick<PullRequest, "number" | "branch" | "commitSha" | "isFork">;

const githubNames = { number: "number", sha: "pull_request.head.sha", ref: "pull_request.head.ref" };

/** Which commit of which branch it asks to merge. `names`: of the fields, where the host sent them. */
export function readHead(
  number: unknown,
  request: Json,
  names = githubNames,
): { request: Head } | { problem: string } {
  const [head, base] = [part(request.head), part(request.base)];
  const { ref, sha } = head;
  if (typeof number !== "number" || !Number.isInteger(number) || number < 1 || number > 2_147_483_647)
    return { problem: `\`${names.number}\` is not the number of a pull request.` };
  if (typeof sha !== "string" || !commitPattern.test(sha))
    return { problem: `\`${names.sha}\` is not a commit id of 40 or 64 hexadecimal digits.` };
  if (typeof ref !== "string" || refProblem(ref))
    return { problem: `\`${names.ref}\` is not the name of a branch.` };
  const known = new Set(
    urlsOf(part(base.repo))
      .map(repositoryKey)
      .filter((key) => key !== null),
  );
  // Only what is surely the same repository is no fork.
  const isFork = !urlsOf(part(head.repo)).some((url) => known.has(repositoryKey(url) ?? ""));
  return { request: { number, branch: ref, commitSha: sha, isFork } };
}
