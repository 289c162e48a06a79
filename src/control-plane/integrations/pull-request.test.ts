import { expect, it } from "vitest";
import { previewName } from "./preview-service.ts";
import { readPullRequest } from "./pull-request.ts";

const own = { clone_url: "https://github.com/team/bot.git", html_url: "https://github.com/team/bot" };
const sha = "a".repeat(40);
const body = (action: string, head: Record<string, unknown> = {}) => ({
  action,
  number: 7,
  pull_request: { head: { ref: "feature/x", sha, repo: own, ...head }, base: { ref: "main", repo: own } },
});

it("reads what a preview follows, and passes over the rest", () => {
  expect(readPullRequest(body("opened"))).toEqual({
    ...{ action: "build", number: 7, branch: "feature/x", commitSha: sha, isFork: false },
    repositoryUrls: [own.clone_url, own.html_url],
  });
  expect(readPullRequest(body("synchronize"))).toMatchObject({ action: "build" });
  expect(readPullRequest(body("closed"))).toMatchObject({ action: "remove" });
  expect(readPullRequest(body("labeled"))).toBeNull();
});

it("takes everything for a fork that is not surely the same repository", () => {
  const stranger = { clone_url: "https://github.com/stranger/bot.git" };
  for (const repo of [stranger, null, {}, { clone_url: "nonsense" }])
    expect(readPullRequest(body("opened", { repo }))).toMatchObject({ isFork: true });
  const none = { ...body("opened"), pull_request: { head: { ref: "x", sha }, base: {} } };
  expect(readPullRequest(none)).toMatchObject({ isFork: true, repositoryUrls: [] });
});

it("names what cannot be used", () => {
  expect(readPullRequest(body("opened", { sha: "--upload-pack" }))).toHaveProperty("problem");
  expect(readPullRequest(body("opened", { ref: "-x" }))).toHaveProperty("problem");
  expect(readPullRequest({ ...body("opened"), number: "7" })).toHaveProperty("problem");
});

it("is named after its parent, its number and its branch", () => {
  expect(previewName("bot", { number: 7, branch: "feature/new words" })).toBe("bot-pr-7-feature-new-words");
  expect(
    previewName("b".repeat(128), { number: 2_147_483_647, branch: "x".repeat(255) }).length,
  ).toBeLessThan(129);
});
