import { createHmac } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { quickDeployments } from "../support/compiled-agent.ts";
import type { GitRepository } from "../support/components/git-repository.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { phone, type RunningConsole, startConsole } from "../support/console-page.ts";
import { dropDeploymentDatabases } from "../support/control-plane.ts";
import { type DeploymentBody, deploy, gitDeployment, type PlaneCalls } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

// Real builds, real servers and a real browser on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const token = "ghp-only-for-this-test";
const workMs = 120_000;
let running: RunningConsole;
let git: GitServer;
let repository: GitRepository;
let integration: { id: string; webhook_url: string; webhook_secret: string };
let parent: DeploymentBody;

const plane: PlaneCalls = { call: (method, path, body) => running.app.call(method, path, { body }) };

beforeAll(async () => {
  const deployments = await quickDeployments();
  const credentials = [{ username: "x-access-token", password: token }];
  [running, git] = await Promise.all([startConsole({ deployments }), startGitServer({ credentials })]);
  repository = await git.createRepository("loom", quickProject("loom"));
  const made = await plane.call<typeof integration>("POST", "/v1/integrations/github", {
    ...{ name: "team", host: git.url, token },
  });
  expect(made.status).toBe(201);
  integration = made.body;
  const deployed = await deploy(plane, {
    ...gitDeployment("loom", repository.url),
    source_config: {
      ...{ repo_url: repository.url, integration_id: integration.id, install_command: quickInstall },
    },
  });
  expect(deployed.revision.status).toBe("DEPLOYED");
  parent = deployed.deployment;
}, 240_000);
afterEach(() => running?.closeAll());
afterAll(async () => {
  if (running) await dropDeploymentDatabases(running.app.database);
  await running?.stop();
  await git?.stop();
});

/** As the git host reports it. */
async function pullRequest(number: number, action: string, branch: string, sha: string): Promise<void> {
  const repo = { clone_url: repository.url };
  const pull_request = { head: { ref: branch, sha, repo }, base: { repo } };
  const body = JSON.stringify({ action, number, pull_request });
  const signature = createHmac("sha256", integration.webhook_secret).update(body).digest("hex");
  const answer = await fetch(integration.webhook_url, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "x-github-event": "pull_request",
      "x-hub-signature-256": `sha256=${signature}`,
    },
  });
  expect(answer.status).toBe(202);
}

describe("previews of pull requests", () => {
  it("are turned on with a click, listed where they belong, and name what they are of", async () => {
    const page = await running.open(`/deployments/${parent.id}?tab=settings`);
    await page.field("A deployment for each pull request").click();
    await page.text("Pull requests get previews.").waitFor();
    await page.text("No pull request has a preview now.").waitFor();
    expect(await page.violations()).toEqual([]);

    const branch = "feature/a-rather-long-name-of-a-branch-that-somebody-pushed";
    const sha = await repository.commit(quickProject("changed"), "Change", branch);
    await pullRequest(7, "opened", branch, sha);
    const listed = page.page.getByRole("list", { name: "Previews" });
    await listed.getByRole("link", { name: "Pull request 7" }).waitFor();
    await listed.getByText("Serving").waitFor({ timeout: workMs });
    expect([await page.violations(), await page.overflowing()]).toEqual([[], []]);
    await page.page.setViewportSize(phone);
    expect([await page.violations(), await page.overflowing()]).toEqual([[], []]);
    await page.page.setViewportSize({ width: 1280, height: 860 });

    await page.visit("/deployments");
    await page.page
      .getByRole("row", { name: /loom-pr-7-/ })
      .getByText("preview", { exact: true })
      .waitFor();
    expect(await page.violations()).toEqual([]);
    await page.visit(`/deployments/${parent.id}?tab=settings`);
    await listed.getByRole("link", { name: "Pull request 7" }).click();
    await page.heading(/^loom-pr-7-/).waitFor();
    await page.link("Settings").last().click();
    await page.text("Made for pull request 7 of").waitFor();
    expect(await page.field("A deployment for each pull request").count()).toBe(0);
    expect(await page.violations()).toEqual([]);
    await page.page.getByRole("main").getByRole("link", { name: "loom", exact: true }).click();
    await listed.getByRole("link", { name: "Pull request 7" }).waitFor();

    // Closed at the host: gone here, without a reload.
    await pullRequest(7, "closed", branch, sha);
    await page.text("No pull request has a preview now.").waitFor();
    await page.field("A deployment for each pull request").click();
    await page.text("Pull requests get no previews.").waitFor();
    expect(page.errors).toEqual([]);
  });
});
