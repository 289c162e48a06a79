import { type Push, readPush } from "./integration.ts";
import { type PullRequest, readHead } from "./pull-request.ts";

type Json = Record<string, unknown>;
const part = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});

const urlsOf = (project: Json) =>
  ["git_http_url", "git_ssh_url", "web_url"]
    .map((name) => project[name])
    .filter((url): url is string => typeof url === "string");

/** A push to a branch that exists, or null. GitLab names the same things as GitHub; a new branch comes from zeros. */
export function readGitlabPush(body: Json): Push | { problem: string } | null {
  const isNew = typeof body.before === "string" && /^0+$/.test(body.before);
  const push = readPush({ ref: body.ref, after: body.after, created: isNew });
  if (push === null || "problem" in push) return push;
  return { ...push, repositoryUrls: urlsOf(part(body.project)) };
}

const actions: Readonly<Record<string, PullRequest["action"]>> = {
  open: "build",
  reopen: "build",
  update: "build",
  close: "remove",
  merge: "remove",
};

const names = {
  number: "object_attributes.iid",
  sha: "object_attributes.last_commit.id",
  ref: "object_attributes.source_branch",
};

/** A change of a merge request that its preview follows, or null: approvals, labels, titles and the like. */
export function readMergeRequest(body: Json): PullRequest | { problem: string } | null {
  const request = part(body.object_attributes);
  const action = actions[String(request.action)];
  // An update without an old revision has no new commit.
  if (action === undefined || (request.action === "update" && typeof request.oldrev !== "string"))
    return null;
  const project = (id: unknown) => ({ url: typeof id === "number" ? `https://project/${id}` : null });
  const head = readHead(
    request.iid,
    {
      head: {
        ref: request.source_branch,
        sha: part(request.last_commit).id,
        // Two projects are the same when their ids are.
        repo: project(request.source_project_id),
      },
      base: { repo: project(request.target_project_id) },
    },
    names,
  );
  if ("problem" in head) return { problem: head.problem };
  return { action, ...head.request, repositoryUrls: urlsOf(part(request.target)) };
}
