import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { quickDeployments } from "../support/compiled-agent.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { type ConsolePage, phone, type RunningConsole, startConsole } from "../support/console-page.ts";
import { dropDeploymentDatabases } from "../support/control-plane.ts";
import { deploy, gitDeployment, type PlaneCalls } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

// Real builds, real servers and a real browser on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

let running: RunningConsole;
let git: GitServer;
const workMs = 120_000;

beforeAll(async () => {
  const deployments = await quickDeployments();
  [running, git] = await Promise.all([startConsole({ deployments }), startGitServer()]);
});
afterEach(() => running?.closeAll());
afterAll(async () => {
  if (running) await dropDeploymentDatabases(running.app.database);
  await running?.stop();
  await git?.stop();
});

const plane: PlaneCalls = {
  call: (method, path, body) => running.app.call(method, path, { body }),
};

function deployed(name: string, repoUrl: string, more: Record<string, unknown> = {}) {
  const body = gitDeployment(name, repoUrl, more);
  return deploy(plane, {
    ...body,
    source_config: { ...body.source_config, install_command: quickInstall },
  });
}

async function answerOf(deploymentId: string): Promise<{ answer: string; suffix: string | null }> {
  const { body } = await running.app.call<{ url: string }>("GET", `/v2/deployments/${deploymentId}`);
  const response = await fetch(`${body.url}/version`, { headers: { "x-api-key": running.app.apiKey } });
  return (await response.json()) as { answer: string; suffix: string | null };
}

const idOf = (page: ConsolePage) => /deployments\/([0-9a-f-]{36})/.exec(page.path)![1]!;

describe("a deployment's life", () => {
  it("begins with a form, is followed while it is built, changed, rolled back, and deleted by its name", async () => {
    const repository = await git.createRepository("weaver", quickProject("first"));
    const page = await running.open("/deployments");
    await page.text("Nothing is deployed yet").waitFor();
    await page.link("New deployment").first().click();
    await page.heading("New deployment").waitFor();
    await page.link(/^Git URL/).click();

    // What is typed is checked as it is typed.
    await page.button("Deploy").click();
    await page.text("Paste the address that you would clone.").waitFor();
    await page.field("Repository").fill("https://someone:token@example.com/x");
    await page.text("Leave user name and token out of the address.").waitFor();
    await page.field("Configuration file").fill("../langgraph.json");
    await page.text("A path inside the repository").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.field("Repository").fill(repository.url);
    expect(await page.field("Name").first().inputValue()).toBe("weaver");
    await page.field("Configuration file").fill("langgraph.json");
    await page.text("Build commands").click();
    await page.field(/Install command/).fill(quickInstall);
    await page.button("Add a secret").click();
    await page.field("Name of secret 1").fill("2nd");
    await page.text("Letters, digits and underscores").waitFor();
    // A .env file in the clipboard becomes rows.
    await page.page.evaluate(`(() => {
      const field = document.querySelector('[aria-label="Name of secret 1"]');
      const clipboardData = new DataTransfer();
      clipboardData.setData("text", "# ours\\nSUFFIX='!'\\nexport OTHER=kept");
      field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    })()`);
    await page.field("Value of OTHER").waitFor();
    expect(await page.field("Value of SUFFIX").inputValue()).toBe("!");
    await page.button("Deploy").click();

    // Its first revision is followed without a reload.
    await page.heading("Revision 1").waitFor();
    const id = idOf(page);
    const log = page.page.getByRole("log", { name: "Build log" });
    await log.getByText("linked the packages").waitFor({ timeout: workMs });
    await page.page.locator(".page-title .badge", { hasText: "Deployed" }).waitFor({ timeout: workMs });
    expect(await answerOf(id)).toEqual({ answer: "first", suffix: "!" });
    expect(await page.violations()).toEqual([]);
    await page.field("Search build log").fill("LINKED");
    expect(await log.locator("mark").first().textContent()).toBe("linked");
    expect(await log.locator(".log-line").count()).toBe(1);
    await page.field("Search build log").fill("");
    // The platform's own lines stand back, and can be folded away.
    await log.locator(".log-line.platform", { hasText: "$ node install.js" }).waitFor();
    await log.locator(".log-line:not(.platform)", { hasText: "linked the packages" }).waitFor();
    await page.button("Own output").click();
    await log.locator(".log-line.platform").first().waitFor({ state: "detached" });
    expect(await log.locator(".log-line").allTextContents()).toEqual([
      expect.stringContaining("linked the packages"),
    ]);
    expect(await page.violations()).toEqual([]);
    await page.link("Timeline").click();
    await page.page.getByRole("list", { name: "Timeline" }).getByText("Starting the server.").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.link("Server log").click();
    await page.page.getByRole("log", { name: "Server log" }).getByText("Serving echo").waitFor();

    // A change of the code and of one secret; the other one is kept without being shown.
    await repository.commit(quickProject("second"), "Say something else");
    await page.link("weaver").click();
    await page.page.locator(".page-title .badge", { hasText: "Serving" }).waitFor();
    await page.link("Settings").last().click();
    await page.text("kept as it is").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.page
      .locator(".secret", { has: page.page.locator('[value="SUFFIX"]') })
      .getByRole("button", { name: "Replace" })
      .click();
    await page.field("Value of SUFFIX").fill("?");
    await page.field(/^CPU limit/).fill("x");
    await page.text("Processors, from 0.1 to 16.").waitFor();
    await page.field(/^CPU limit/).fill("2");
    await page.field(/^Memory limit/).fill("1024");
    await page.button("Save as a new revision").click();
    await page.heading("Revision 2").waitFor();
    await page.page.locator(".page-title .badge", { hasText: "Deployed" }).waitFor({ timeout: workMs });
    expect(await answerOf(id)).toEqual({ answer: "second", suffix: "?" });
    const { body: limited } = await running.app.call("GET", `/v2/deployments/${id}`);
    expect(limited).toMatchObject({
      source_config: { resource_spec: { cpu_limit: 2, memory_limit_mb: 1024 } },
    });

    // Back to the first one, without a build.
    await page.link("weaver").click();
    await page.link("Revisions").click();
    const revisions = page.page.getByRole("table", { name: "Revisions" });
    await revisions
      .getByRole("row", { name: /Revision 2/ })
      .getByText("serves")
      .waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("Roll back to revision 1").click();
    await page.page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
    await page.heading("Revision 3").waitFor();
    await page.page.locator(".page-title .badge", { hasText: "Deployed" }).waitFor({ timeout: workMs });
    expect(await answerOf(id)).toEqual({ answer: "first", suffix: "!" });

    // Gone only when its name was typed.
    await page.visit(`/deployments/${id}?tab=settings`);
    await page.button("Delete…").click();
    const dialog = page.page.getByRole("dialog");
    const confirm = dialog.getByRole("button", { name: "Delete", exact: true });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByRole("textbox").fill("weave");
    expect(await confirm.isDisabled()).toBe(true);
    expect(await page.violations()).toEqual([]);
    await dialog.getByRole("textbox").fill("weaver");
    await confirm.click();
    await page.text("Nothing is deployed yet").waitFor();
    expect((await running.app.call("GET", `/v2/deployments/${id}`)).status).toBe(404);
    expect(page.errors).toEqual([]);
  });
});

describe("what others do", () => {
  it("shows up without a reload: a new deployment, its failure with the reason, its end", async () => {
    const page = await running.open("/deployments");
    await page.text("Nothing is deployed yet").waitFor();
    const broken = await git.createRepository("broken", {
      ...quickProject("never"),
      "install.js": "// Sews it on.\nthrow new Error('the left sleeve is missing');",
    });
    const { deployment } = await deployed("broken", broken.url);
    const row = page.page.getByRole("row", { name: /broken/ });
    await row.getByText("Build failed").waitFor();
    await row.getByRole("link", { name: "broken" }).click();
    await page.page.getByRole("heading", { name: /Revision 1 failed/ }).waitFor();
    await page.text("the left sleeve is missing").waitFor();
    // What never served has nothing to stop.
    await page.link("New revision").or(page.button("New revision")).first().waitFor();
    expect(await page.button("Stop…").count()).toBe(0);
    // No way leads to a server that is not there; what to do is said instead.
    const notice = page.page.locator(".notice", { hasText: "It has never served." });
    await notice.getByRole("link", { name: "See why revision 1 failed" }).waitFor();
    const ways = ["Open in studio", "API reference", /^Try it/].map((name) =>
      page.page.locator("main").getByRole("link", { name }).count(),
    );
    expect(await Promise.all(ways)).toEqual([0, 0, 0]);
    expect(await page.page.locator('main a[href*="/chat"], main a[href*="/agents/"]').count()).toBe(0);
    await page.page.locator("dl", { hasText: "Runs on" }).getByText("this host").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.visit(`/agents/${deployment.id}`);
    await page.text("It has never served").waitFor();
    await page.visit("/agents");
    const server = page.page
      .getByRole("table", { name: "Agent servers" })
      .getByRole("link", { name: "broken" });
    await server.click();
    await page.page.getByRole("heading", { name: /Revision 1 failed/ }).waitFor();
    expect(page.path).toBe(`/deployments/${deployment.id}`);
    await page.link("What it printed, and its logs").click();
    const why = page.page.locator(".danger-card", { hasText: "Why it failed" });
    // The project's own words, and not the platform's.
    await why.locator("pre").getByText("install.js:2").waitFor();
    await why.locator("code", { hasText: /^install\.js:2$/ }).waitFor();
    expect(await why.locator("pre").textContent()).not.toContain("Installing");
    expect(await page.text("install_command failed").isVisible()).toBe(false);
    // And what to do next.
    await why.getByText("Push a change to main and try again").waitFor();
    await why.getByRole("button", { name: "Try again" }).waitFor();
    await why.getByRole("link", { name: "Change the settings" }).click();
    await page.button("Add a secret").waitFor();
    await page.page.goBack();
    // From the reason to the very line of the log, at an address that can be shared.
    await why.getByRole("link", { name: "Show it in the log" }).click();
    const marked = page.page.getByRole("log", { name: "Build log" }).locator('[aria-current="true"]');
    await marked.getByText("install.js:2").waitFor();
    expect(page.page.url()).toContain("?tab=build&line=failure");
    await marked.getByRole("link").click();
    await page.page.waitForURL(/tab=build&line=\d+$/);
    await page.page.reload();
    await marked.getByText("install.js:2").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.visit(new URL(page.page.url()).pathname);
    await why.getByText("Why it failed").waitFor();
    // On a phone the reason is in sight too: what is below does not scroll the page.
    await page.page.setViewportSize(phone);
    await page.page.reload();
    await why.getByText("Why it failed").waitFor();
    await page.page.getByRole("log", { name: "Build log" }).getByText("$ node install.js").waitFor();
    expect(await page.page.evaluate("document.scrollingElement.scrollTop")).toBe(0);
    expect(await page.overflowing()).toEqual([]);
    // The way to the line works again from the same address.
    const isInSight = async () => {
      const box = await marked.boundingBox();
      return box !== null && box.y >= 0 && box.y + box.height <= phone.height;
    };
    for (const time of ["first", "second"]) {
      await why.getByRole("link", { name: "Show it in the log" }).click();
      await expect.poll(isInSight, { message: time, timeout: 30_000 }).toBe(true);
      await why.evaluate((card) => card.scrollIntoView());
      expect(await isInSight()).toBe(false);
    }
    await page.text("What the platform recorded").click();
    await page.text("install_command failed").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.visit("/");
    await page.link(/broken Deployment/).waitFor();
    await page
      .link(/^Deployments 0 of 1 serving/)
      .getByText("1 needs you")
      .waitFor();

    await page.visit("/deployments");
    await row.waitFor();
    expect((await running.app.call("DELETE", `/v2/deployments/${deployment.id}`)).status).toBe(204);
    await page.text("Nothing is deployed yet").waitFor();
  });

  it("draws what a server uses and answers, also on a phone", async () => {
    const repository = await git.createRepository("busy", quickProject("busy"));
    const { deployment } = await deployed("busy", repository.url);
    const page = await running.open(`/deployments/${deployment.id}?tab=metrics&range=15m`, {
      viewport: phone,
    });
    const requests = page.page.getByRole("img", { name: /^Requests per minute\. Requests: (?!0,)/ });
    // Its name says the last ten seconds, so somebody must go on asking.
    const asked = async () => {
      await answerOf(deployment.id);
      return requests.count();
    };
    await expect.poll(asked, { interval: 500, timeout: 40_000 }).toBe(1);
    await page.page.getByRole("img", { name: /^Memory\. In use: [\d.]+ MB/ }).waitFor();
    expect(await page.violations()).toEqual([]);
    for (const tab of ["overview", "revisions", "logs", "metrics", "settings"]) {
      await page.visit(`/deployments/${deployment.id}?tab=${tab}`);
      await page.heading("busy").waitFor();
      await page.settled();
      expect(await page.overflowing(), tab).toEqual([]);
    }
    for (const way of ["template", "folder", "repository", "git"]) {
      await page.visit(`/deployments/new?from=${way}`);
      await page.heading("New deployment").waitFor();
      await page.settled();
      expect([way, await page.overflowing(), await page.violations()]).toEqual([way, [], []]);
    }
    expect(page.errors).toEqual([]);
  });

  it("is restarted, stopped by who confirms it, and started again", async () => {
    const page = await running.open("/deployments");
    await page.page.getByRole("row", { name: /busy/ }).getByRole("link", { name: "busy" }).click();
    const badge = (text: string) => page.page.locator(".page-title .badge", { hasText: text });
    await badge("Serving").waitFor();
    await page.button("Restart").click();
    await page.text("busy is being restarted").waitFor();
    await page.button("Stop…").click();
    expect(await page.violations()).toEqual([]);
    await page.page.getByRole("dialog").getByRole("button", { name: "Stop", exact: true }).click();
    await badge("Stopped").waitFor();
    await page.text("This deployment was stopped").waitFor();
    expect(await page.button("Restart").count()).toBe(0);
    expect(await page.violations()).toEqual([]);
    await page.button("Start").click();
    await badge("Serving").waitFor({ timeout: workMs });
    expect(await page.page.getByRole("dialog").count()).toBe(0);
    expect(page.errors).toEqual([]);
  });

  it("lets a viewer look and change nothing", async () => {
    const { body } = await running.app.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "guest", role: "viewer" },
    });
    const page = await running.open("/deployments", { apiKey: body.key });
    await page.page.getByRole("row", { name: /busy/ }).getByRole("link", { name: "busy" }).click();
    await page.heading("busy").waitFor();
    expect(await page.button("New revision").count()).toBe(0);
    await page.visit("/deployments/new");
    await page.text("Your key can only read").waitFor();
    expect(await page.violations()).toEqual([]);
  });
});
