import { describe, expect, it } from "vitest";
import { gitlabMergeRequest, gitlabPush } from "../../../tests/support/gitlab-hooks.ts";
import { readGitlabPush, readMergeRequest } from "./gitlab-webhook.ts";

const project = { id: 482, url: "https://gitlab.example.com/team/agents/bot" };
const urls = [`${project.url}.git`, "git@gitlab.example.com:team/agents/bot.git", project.url];
const [before, after] = ["a".repeat(40), "b".repeat(40)];

describe("a push of GitLab", () => {
  const push = gitlabPush({ project, before, after });

  it("names a branch, a commit and the repository in each of its forms", () => {
    expect(readGitlabPush(push)).toEqual({ repositoryUrls: urls, branch: "main", commitSha: after });
  });

  it.each([
    ["a new branch", { before: "0".repeat(40) }],
    ["a branch that is deleted", { after: "0".repeat(40), checkout_sha: null }],
    ["a tag", { ref: "refs/tags/v1" }],
  ])("builds nothing for %s", (_what, change) => {
    expect(readGitlabPush({ ...push, ...change })).toBeNull();
  });

  it("is refused with what is no commit or no branch", () => {
    expect(readGitlabPush({ ...push, after: "--upload-pack=id" })).toEqual({
      problem: expect.stringContaining("`after`"),
    });
    expect(readGitlabPush({ ...push, ref: "refs/heads/a..b" })).toEqual({
      problem: expect.stringContaining("`ref`"),
    });
  });
});

describe("a merge request of GitLab", () => {
  const request = (action: string, change: Record<string, unknown> = {}) =>
    gitlabMergeRequest({ project, action, iid: 7, branch: "feature/x", sha: after, change });

  it("is followed when it is opened, gets commits, or ends", () => {
    expect(readMergeRequest(request("open"))).toEqual({
      ...{ action: "build", number: 7, branch: "feature/x", commitSha: after, isFork: false },
      repositoryUrls: urls,
    });
    expect(readMergeRequest(request("update", { oldrev: before }))).toMatchObject({ action: "build" });
    expect(readMergeRequest(request("reopen"))).toMatchObject({ action: "build" });
    for (const action of ["close", "merge"])
      expect(readMergeRequest(request(action))).toMatchObject({ action: "remove", number: 7 });
  });

  it("is passed over when only its title, labels or approvals changed", () => {
    for (const action of ["update", "approved", "unapproved", "approval"])
      expect(readMergeRequest(request(action))).toBeNull();
  });

  it("is a fork's unless both projects are surely the same", () => {
    for (const change of [
      { source_project_id: 9 },
      { source_project_id: null },
      { source_project_id: null, target_project_id: null },
    ])
      expect(readMergeRequest(request("open", change))).toMatchObject({ isFork: true });
  });

  it.each([
    [{ iid: "7" }, "object_attributes.iid"],
    [{ last_commit: { id: "main" } }, "object_attributes.last_commit.id"],
    [{ source_branch: "--x" }, "object_attributes.source_branch"],
  ])("is refused with %j", (change, field) => {
    expect(readMergeRequest(request("open", change))).toEqual({ problem: expect.stringContaining(field) });
  });
});
