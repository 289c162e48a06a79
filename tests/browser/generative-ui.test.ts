import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import { deploy, gitDeployment, readExample } from "../support/deployments.ts";
import { startPageSite } from "../support/page-site.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 240_000 });

const project = fileURLToPath(new URL("../../examples/generative-ui/langgraph.json", import.meta.url));
let pages: Awaited<ReturnType<typeof startPageSite>>;
beforeAll(async () => {
  pages = await startPageSite("ui-client");
});
afterEach(() => pages.closeAll());
afterAll(() => pages?.stop());

/** A chat page, what goes wrong in it, and which scripts it was given to load. */
async function openChat(options: { api: string; assistant: string; key?: string; thread?: string }) {
  const page = await pages.newPage();
  page.setDefaultTimeout(20_000);
  const troubles: string[] = [];
  const scripts: string[] = [];
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("response", (response) => {
    if (response.status() >= 400) troubles.push(`${response.status()} ${response.url()}`);
    const file = response.url().startsWith(options.api) && /\/ui\/.*\.(?:js|css)$/.test(response.url());
    if (file) scripts.push(response.url().slice(options.api.length));
  });
  await page.goto(pages.addressOf(options));
  return { page, troubles, scripts };
}

async function untilShown(page: Page, wanted: object) {
  let last = "";
  await waitUntil(
    async () => {
      last = (await page.locator("output").textContent()) ?? "{}";
      const shown = JSON.parse(last);
      return Object.entries(wanted).every(
        ([name, value]) => JSON.stringify(shown[name]) === JSON.stringify(value),
      );
    },
    {
      what: JSON.stringify(wanted),
      timeoutMs: 20_000,
      evidence: () => last,
    },
  );
}

/** Asks, sees the component with its style, changes its state, and has it ask on. */
async function useComponent(page: Page) {
  await page.getByRole("button", { name: "Ask" }).click();
  const card = page.locator("section").filter({ hasText: "Oslo" });
  await card.waitFor();
  // Tailwind's own, in the shadow root and nowhere else.
  await page.waitForFunction(
    "getComputedStyle([...document.querySelectorAll('#app > div')].at(-1).shadowRoot.querySelector('section')).display === 'flex'",
  );
  const degrees = card.getByRole("button", { name: /°C/ });
  await degrees.click();
  await card.getByRole("button", { name: /°F/ }).waitFor();
  await untilShown(page, { isLoading: false, pushed: ["weather"], kept: 1, error: null });
  await card.getByRole("button", { name: "And in Bergen?" }).click();
  await page.locator("section").filter({ hasText: "Bergen" }).filter({ hasNotText: "Oslo" }).waitFor();
  await untilShown(page, { isLoading: false, pushed: ["weather", "weather"], kept: 2, error: null });
}

describe("from an agent server", () => {
  let database: TestDatabase;
  let agent: RunningAgent;
  beforeAll(async () => {
    database = await createTestDatabase();
    agent = await startAgent(project, { DATABASE_URL: database.url });
  });
  afterAll(async () => {
    await agent?.process.stop();
    await database?.drop();
  });

  it("a page of the same site loads script and style by their addresses", async () => {
    const { page, troubles, scripts } = await openChat({ api: agent.ready.url, assistant: "weather" });
    await useComponent(page);
    expect([...new Set(scripts)].sort()).toEqual(["/ui/weather/entrypoint.css", "/ui/weather/entrypoint.js"]);
    expect(troubles).toEqual([]);
  });

  it("a page of another site gets them with the answer: its tags would be refused", async () => {
    const api = agent.ready.url.replace("127.0.0.1", "localhost");
    const { page, troubles, scripts } = await openChat({ api, assistant: "weather" });
    await useComponent(page);
    expect(scripts).toEqual([]);
    expect(troubles).toEqual([]);
  });
});

describe("from a deployment", () => {
  let site: DeploymentSite;
  let api: string;
  beforeAll(async () => {
    site = await startDeploymentSite("generative-ui", { folderMode: 0o711 });
    const { "install.js": install } = quickProject("");
    const files = { ...(await readExample("generative-ui")), "install.js": install! };
    const repository = await site.git.createRepository("generative-ui", files);
    const source_config = { repo_url: repository.url, install_command: quickInstall };
    const asked = gitDeployment("generative-ui", repository.url, { source_config });
    const { deployment, revision } = await deploy(site.plane, asked);
    expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    api = deployment.url;
    expect(new URL(api).pathname).toMatch(/^\/d\//);
  });
  afterAll(() => site?.stop());

  it("by their addresses, below the deployment's path", async () => {
    const { page, troubles, scripts } = await openChat({ api, assistant: "weather" });
    await useComponent(page);
    expect([...new Set(scripts)].sort()).toEqual(["/ui/weather/entrypoint.css", "/ui/weather/entrypoint.js"]);
    expect(troubles).toEqual([]);
  });

  it("with the answer, where the page has a key that its tags could not send", async () => {
    const { apiKey: key } = site.plane;
    const { page, troubles, scripts } = await openChat({ api, assistant: "weather", key });
    await useComponent(page);
    expect(scripts).toEqual([]);
    expect(troubles).toEqual([]);
  });
});
