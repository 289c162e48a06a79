import { describe, expect, it } from "vitest";
import {
  apiUrlOf,
  backOffMs,
  hostKindOf,
  pullRequestsPath,
  readPullRequests,
  repositoryPath,
  waitMsOf,
} from "./git-host.ts";

const github = { host: "github.com", api_url: null };
const gitlab = { host: "gitlab.com", api_url: null };
const own = { host: "git.example.com", api_url: "https://git.example.com/api/v4/" };

describe("a git host", () => {
  it("is asked where its API is", () => {
    expect([github, gitlab, own].map(apiUrlOf)).toEqual([
      ...["https://api.github.com", "https://gitlab.com/api/v4", "https://git.example.com/api/v4"],
    ]);
    expect([github, gitlab, own].map(hostKindOf)).toEqual(["github", "gitlab", "gitlab"]);
    const page = { pageSize: 100, page: 2 };
    expect(pullRequestsPath(own, "group/sub/bot", page)).toContain("/projects/group%2Fsub%2Fbot/merge_req");
    expect(pullRequestsPath(github, "team/bot", page)).toContain("/repos/team/bot/pulls?state=open");
  });

  it.each([
    ["https://github.com/team/bot.git", "team/bot"],
    ["git@github.com:team/bot.git", "team/bot"],
    ["ssh://git@github.com/team/bot/", "team/bot"],
    ["https://github.com/team/group/bot", null],
    ["https://github.com/bot", null],
    ["https://github.com/../user", null],
    ["https://github.com/team/bot?x=1", null],
  ])("knows %s as %s", (url, path) => {
    expect(repositoryPath(github, url)).toBe(path);
  });

  it("of GitLab has groups within groups", () => {
    expect(repositoryPath(gitlab, "https://gitlab.com/a/b/c.git")).toBe("a/b/c");
  });
});

describe("a list of pull requests", () => {
  const sha = "a".repeat(40);
  const updated_at = "2026-11-01T00:00:00Z";

  it("is read where it can be used; what is no pull request is passed over", () => {
    const repo = { clone_url: "https://github.com/team/bot.git" };
    const good = { number: 7, updated_at, head: { ref: "x", sha, repo }, base: { repo } };
    const page = [good, { ...good, number: 0 }, { ...good, updated_at: "never" }, null, "x", { number: 1 }];
    const { found, count } = readPullRequests(github, page);
    expect(found).toEqual([
      { number: 7, branch: "x", commitSha: sha, isFork: false, updatedAt: new Date(updated_at) },
    ]);
    expect(count).toBe(page.length);
    expect(readPullRequests(github, { message: "Not Found" })).toMatchObject({ found: [], count: 0 });
  });

  it("of GitLab takes everything for a fork that is not surely of the same project", () => {
    const of = (projects: object) =>
      readPullRequests(gitlab, [{ iid: 7, updated_at, sha, source_branch: "x", ...projects }]).found[0];
    expect(of({ source_project_id: 7, target_project_id: 7 })).toMatchObject({ number: 7, isFork: false });
    for (const projects of [{ source_project_id: 8, target_project_id: 7 }, { target_project_id: 7 }, {}])
      expect(of(projects)).toMatchObject({ isFork: true });
  });
});

describe("a host that refuses", () => {
  const now = new Date("2026-11-01T00:00:00Z");
  const at = String(now.getTime() / 1000 + 900);

  it.each<[Record<string, string>, number | null]>([
    [{ "retry-after": "30" }, 30_000],
    [{ "retry-after": "0", "x-ratelimit-remaining": "0", "x-ratelimit-reset": at }, 0],
    [{ "x-ratelimit-remaining": "0", "x-ratelimit-reset": at }, 900_000],
    [{ "ratelimit-remaining": "0", "ratelimit-reset": at }, 900_000],
    [{ "x-ratelimit-remaining": "12", "x-ratelimit-reset": at }, null],
    [{ "retry-after": "999999999" }, 6 * 3_600_000],
    [{ "retry-after": "soon" }, null],
    [{}, null],
  ])("%j asks for %s ms", (headers, waitMs) => {
    expect(waitMsOf(new Headers(headers), now)).toBe(waitMs);
  });

  it("is left alone twice as long each time, up to six hours, and never less than it asks", () => {
    expect([1, 2, 3].map((failures) => backOffMs(failures, null))).toEqual([60_000, 120_000, 240_000]);
    expect(backOffMs(1_000, null)).toBe(6 * 3_600_000);
    expect(backOffMs(1, 500_000)).toBe(500_000);
  });
});
