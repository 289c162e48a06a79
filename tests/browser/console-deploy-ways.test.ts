import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { create } from "tar";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { openChatPages } from "../support/chat-page.ts";
import { quickDeployments } from "../support/compiled-agent.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { type ConsolePage, phone, type RunningConsole, startConsole } from "../support/console-page.ts";
import { dropDeploymentDatabases, packageRoot } from "../support/control-plane.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

// Real builds, real servers and a real browser on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const token = "ghp-only-for-this-test";
const workMs = 120_000;
let running: RunningConsole;
let chats: Awaited<ReturnType<typeof openChatPages>>;
let git: GitServer;
let folder: TempFolder;

beforeAll(async () => {
  const deployments = await quickDeployments();
  const credentials = [{ username: "x-access-token", password: token }];
  [running, chats, git, folder] = await Promise.all([
    startConsole({ deployments }),
    openChatPages(),
    startGitServer({ credentials }),
    createTempFolder("deploy-ways"),
  ]);
});
afterEach(async () => {
  await running?.closeAll();
  await chats?.closeAll();
});
afterAll(async () => {
  if (running) await dropDeploymentDatabases(running.app.database);
  await chats?.stop();
  await running?.stop();
  await git?.stop();
  await folder?.remove();
});

const idOf = (page: ConsolePage) => /deployments\/([0-9a-f-]{36})/.exec(page.path)![1]!;

async function install(page: ConsolePage, command: string): Promise<void> {
  await page.text("Build commands").click();
  await page.field(/Install command/).fill(command);
}

const deployed = (page: ConsolePage) =>
  page.page.locator(".page-title .badge", { hasText: "Deployed" }).waitFor({ timeout: workMs });

async function answerOf(deploymentId: string): Promise<unknown> {
  const { body } = await running.app.call<{ url: string }>("GET", `/v2/deployments/${deploymentId}`);
  const response = await fetch(`${body.url}/version`, { headers: { "x-api-key": running.app.apiKey } });
  return response.json();
}

describe("a template", () => {
  it("is chosen with the keyboard, deployed and talked to, without a terminal", async () => {
    const page = await running.open("/deployments", { colorScheme: "dark" });
    await page.text("Nothing is deployed yet").waitFor();
    await page.link("New deployment").first().press("Enter");
    await page.page.getByRole("radio", { name: /Agent in Python/ }).waitFor();
    // The choices are one group: an arrow key goes to the next.
    await page.page.getByRole("radio", { name: /Agent in TypeScript/ }).press("ArrowDown");
    expect(await page.page.getByRole("radio", { name: /Agent in Python/ }).isChecked()).toBe(true);
    await page.page.getByRole("radio", { name: /Agent in Python/ }).press("ArrowUp");
    await page.text("Look at its 9 files").click();
    await page.text("src/tools.ts").click();
    await page.text("It is 21 degrees and sunny").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.field("Name").first().fill("weather-bot");
    await install(page, `ln -s '${join(packageRoot, "node_modules")}' node_modules`);
    await page.button("Deploy").press("Enter");

    await page.heading("Revision 1").waitFor();
    await deployed(page);
    const tried = page.link("Try it: agent in the chat");
    await tried.waitFor();
    expect(await page.violations()).toEqual([]);
    const path = await tried.getAttribute("href");
    expect(path).toBe(`/chat#/s/${idOf(page)}/a/agent`);
    await page.link("weather-bot").click();
    await page.link("Open in studio").waitFor();
    // Programs are shown the graph's own name.
    await page.text('"assistant_id": "agent"').waitFor();
    expect(page.errors).toEqual([]);

    const chat = await chats.openOn(running.url, { apiKey: running.app.apiKey, path: path! });
    await chat.say("How is the weather in Vienna?");
    await chat.answered("It is 21 degrees and sunny in Vienna.");
  });
});

describe("a folder", () => {
  async function makeFolder(name: string, files: Record<string, string | null>): Promise<string> {
    const root = join(folder.path, name);
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text ?? "");
    }
    return root;
  }

  it("is looked into before it is uploaded, and what must stay behind does", async () => {
    const page = await running.open("/deployments/new?from=folder");
    await page.button("Choose a folder").waitFor();
    const input = page.field("Folder to deploy");
    await input.setInputFiles(await makeFolder("empty", { "readme.md": "nothing here" }));
    await page.text("There is no langgraph.json in empty.").waitFor();
    expect(await page.button("Deploy").count()).toBe(0);

    const project = await makeFolder("Sleeve Bot", {
      ...(quickProject("from a folder") as Record<string, string>),
      "package.json": JSON.stringify({ private: true, type: "module" }),
      ".env": "SUFFIX='!'\n",
      ".gitignore": "*.log\n",
      "debug.log": "ignored",
      "node_modules/left/index.js": "never uploaded",
    });
    await input.setInputFiles(project);
    await page.text("echo").waitFor();
    await page.text("JavaScript").waitFor();
    await page.text("node_modules, .env, 1 ignored").waitFor();
    await page.text(".env is not uploaded. It has 1 variable.").waitFor();
    expect(await page.field("Name").first().inputValue()).toBe("sleeve-bot");
    await page.button("Add them as secrets").click();
    expect(await page.field("Value of SUFFIX").inputValue()).toBe("!");
    expect(await page.violations()).toEqual([]);
    await install(page, quickInstall);
    await page.button("Deploy").click();
    await page.heading("Revision 1").waitFor();
    await deployed(page);
    expect(await answerOf(idOf(page))).toEqual({ answer: "from a folder", suffix: "!" });
    expect(page.errors).toEqual([]);
  });

  it("is uploaded again after a change, as a folder or as an archive, from the deployment's page", async () => {
    const { body } = await running.app.call<{ resources: { id: string }[] }>(
      "GET",
      "/v2/deployments?name_contains=sleeve-bot",
    );
    const { id } = body.resources[0]!;
    const page = await running.open(`/deployments/${id}`, { viewport: phone, colorScheme: "dark" });
    // By keyboard, on a phone: from the page to the chosen folder to the new revision.
    await page.link("Upload changes").press("Enter");
    await page.heading("Upload changes").waitFor();
    await page.button("Choose a folder").waitFor();
    const reached = await page.tabThrough();
    const names = reached.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["Choose a folder", "Choose a .tar.gz"]));
    expect(reached.filter(({ seen }) => !seen)).toEqual([]);
    const input = page.field("Folder to deploy");
    await input.setInputFiles(await makeFolder("wrong", { "readme.md": "nothing here" }));
    await page.text("There is no langgraph.json in wrong.").waitFor();
    expect(await page.button("Deploy").count()).toBe(0);
    const files = (answer: string) => quickProject(answer) as Record<string, string>;
    await input.setInputFiles(await makeFolder("Sleeve Bot", files("from a changed folder")));
    await page.text("echo").waitFor();
    expect([await page.violations(), await page.overflowing()]).toEqual([[], []]);
    await page.button("Deploy").press("Enter");
    await page.heading("Revision 2").waitFor();
    await deployed(page);
    // Its secrets and its commands have stayed.
    expect(await answerOf(id)).toEqual({ answer: "from a changed folder", suffix: "!" });

    await page.visit(`/deployments/${id}/upload`);
    const archive = page.field("Archive to deploy");
    await archive.setInputFiles({
      ...{ name: "bot.zip", mimeType: "application/zip", buffer: Buffer.from("PK") },
    });
    await page.text("bot.zip is not a .tar.gz.").waitFor();
    expect(await page.button("Deploy").count()).toBe(0);
    const root = await makeFolder("packed", files("from an archive"));
    const packed = join(folder.path, "packed.tar.gz");
    await create({ gzip: true, file: packed, cwd: root }, ["."]);
    await archive.setInputFiles(packed);
    await page.text("It must have langgraph.json in it.").waitFor();
    expect([await page.violations(), await page.overflowing()]).toEqual([[], []]);
    const released = Promise.withResolvers<void>();
    await page.page.route(/\/upload-url$/, async (route) => {
      await released.promise;
      await route.continue();
    });
    await page.button("Deploy").click();
    await page.page.locator("button:disabled", { hasText: "Choose a .tar.gz" }).waitFor();
    // Nothing else is taken while it is being sent, and it is not sent twice.
    await archive.setInputFiles(packed);
    expect(await page.button("Deploy").isDisabled()).toBe(true);
    await input.setInputFiles(join(folder.path, "wrong"));
    expect(await page.button("Deploy").isDisabled()).toBe(true);
    released.resolve();
    await page.heading("Revision 3").waitFor();
    await deployed(page);
    expect(await answerOf(id)).toEqual({ answer: "from an archive", suffix: "!" });
    expect(page.errors).toEqual([]);
  });
});

describe("a private repository", () => {
  it("is chosen from those of an account, whose token is typed once", async () => {
    await git.createRepository("loom", quickProject("from the loom"));
    const page = await running.open("/deployments/new?from=repository");
    await page.field("Host").fill(git.url);
    await page.field("Access token").fill("wrong");
    await page.button("Connect").click();
    await page.text("does not accept this token").waitFor();
    expect(await page.violations()).toEqual([]);
    const none = await running.app.call("GET", "/v2/integrations/github/installations");
    expect(none.body).toEqual([]);
    await page.field("Access token").fill(token);
    await page.button("Connect").click();
    await page.page.getByRole("radio", { name: /weavers\/loom/ }).check();
    expect(await page.field("Name").first().inputValue()).toBe("loom");
    expect(await page.violations()).toEqual([]);
    await install(page, quickInstall);
    await page.button("Deploy").click();
    await page.heading("Revision 1").waitFor();
    await deployed(page);
    expect(await answerOf(idOf(page))).toEqual({ answer: "from the loom", suffix: null });
    expect(page.errors).toEqual([]);
  });

  it("is named by its address, with a token that is sealed", async () => {
    const repository = await git.createRepository("shuttle", quickProject("from an address"));
    const page = await running.open("/deployments/new?from=git");
    await page.field("Repository").fill(repository.url);
    await page.field("Access").first().selectOption("Private: a token typed here");
    await page.button("Deploy").click();
    await page.text("Paste the token or key, or choose Public.").waitFor();
    await page.field("Access token").fill("mistyped");
    await install(page, quickInstall);
    await page.button("Deploy").click();
    await page.text("does not accept this token").waitFor();
    await page.field("Access token").fill(token);
    await page.button("Deploy").click();
    await page.heading("Revision 1").waitFor();
    const log = page.page.getByRole("log", { name: "Build log" });
    await log.getByText("linked the packages").waitFor({ timeout: workMs });
    const stored = await running.app.call("GET", "/v2/integrations/github/installations");
    expect(JSON.stringify(stored.body)).toContain("/shuttle");
    expect(JSON.stringify(stored.body)).not.toContain(token);
    expect(await page.page.content()).not.toContain(token);
    expect(page.errors).toEqual([]);
  });

  it("has its credentials listed in Settings, where an editor removes those they made", async () => {
    const { body: key } = await running.app.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "editor", role: "editor" },
    });
    const made = await running.app.call("POST", "/v1/integrations/github", {
      headers: { "x-api-key": key.key },
      body: { name: "left over", host: git.url, token },
    });
    expect(made.status).toBe(201);
    const page = await running.open("/settings?tab=git", { apiKey: key.key });
    const table = page.page.getByRole("table", { name: "Git credentials" });
    await table
      .getByRole("row", { name: /shuttle/ })
      .getByText("1 deployment")
      .waitFor();
    expect(
      await table
        .getByRole("row", { name: /shuttle/ })
        .getByRole("button")
        .count(),
    ).toBe(0);
    await page.button("Remove left over").click();
    expect(await page.violations()).toEqual([]);
    await page.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.text("left over is removed.").waitFor();
    await table.getByRole("row", { name: /left over/ }).waitFor({ state: "detached" });
    await page.page.setViewportSize(phone);
    await page.settled();
    expect([await page.violations(), await page.overflowing()]).toEqual([[], []]);
    expect(page.errors).toEqual([]);
  });
});
