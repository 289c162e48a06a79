import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { waitUntil } from "../support/components/wait-until.ts";
import { type ConsolePage, phone, type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let running: RunningConsole;

beforeAll(async () => {
  running = await startConsole();
});
afterEach(() => running?.closeAll());
afterAll(() => running?.stop());

/** What has the focus: its element, its words, and whether a ring is drawn around it. */
const focused = ({ page }: ConsolePage) =>
  page.evaluate<{ tag: string; text: string; ring: boolean }>(`(() => {
    const element = document.activeElement;
    return {
      tag: element.tagName,
      text: element.getAttribute("aria-label") ?? element.textContent.trim(),
      ring: getComputedStyle(element).outlineStyle !== "none",
    };
  })()`);

const onHeading = async (page: ConsolePage, text: string) => {
  await page.heading(text).waitFor();
  let last: unknown;
  return waitUntil(
    async () => {
      const found = await focused(page);
      last = found;
      return found.tag === "H1" && found.text === text ? found : undefined;
    },
    { what: `the focus on ${text}`, timeoutMs: 30_000, evidence: () => JSON.stringify(last) },
  );
};

describe("going to another page", () => {
  it("leads to its heading, without a ring for those who use a mouse, and Tab goes on from there", async () => {
    const page = await running.open("/");
    await page.heading("Overview").waitFor();
    await page.settled();
    // A browser begins a page it loads at its top.
    expect((await focused(page)).tag).toBe("BODY");
    await page.page.getByRole("navigation", { name: "Console" }).getByText("Exports").click();
    expect(await onHeading(page, "Exports")).toMatchObject({ ring: false });
    await page.page.getByRole("navigation", { name: "Console" }).getByText("Alerts").click();
    expect(await onHeading(page, "Alerts")).toMatchObject({ ring: false });
    await page.page.keyboard.press("Tab");
    const isInside = await page.page.evaluate(
      "document.getElementById('main').contains(document.activeElement)",
    );
    expect(isInside).toBe(true);
    await page.page.goBack();
    await onHeading(page, "Exports");
    expect(await page.violations()).toEqual([]);
    expect(page.errors).toEqual([]);
  });

  it("with the keyboard, too, from a link, a shortcut and the palette", async () => {
    const page = await running.open("/");
    await page.heading("Overview").waitFor();
    await page.page
      .getByRole("navigation", { name: "Console" })
      .getByRole("link", { name: "Traces" })
      .focus();
    await page.page.keyboard.press("Enter");
    expect(await onHeading(page, "Traces")).toMatchObject({ ring: true });
    await page.page.keyboard.press("g");
    await page.page.keyboard.press("d");
    await onHeading(page, "Deployments");
    await page.page.keyboard.press("Control+k");
    await page.page.locator("dialog[open] input").fill("Connections");
    await page.page
      .getByRole("option", { name: /Connections/ })
      .first()
      .waitFor();
    await page.page.keyboard.press("Enter");
    await onHeading(page, "Connections");
    expect(page.errors).toEqual([]);
  });

  it("leaves the focus to a field that asks for it", async () => {
    const page = await running.open("/exports/destinations");
    await page.heading("Exports").waitFor();
    await page.link("New destination").first().click();
    await page.heading("New destination").waitFor();
    await waitUntil(async () => (await focused(page)).tag === "INPUT", {
      ...{ what: "the focus in the first field", timeoutMs: 30_000 },
    });
    expect(page.errors).toEqual([]);
  });

  it("scrolls nothing, and works from the menu of a phone", async () => {
    const page = await running.open("/settings", { viewport: phone });
    await page.heading("Settings").waitFor();
    await page.button("Open the menu").click();
    await page.page.getByRole("navigation", { name: "Console" }).getByText("Agents").click();
    await onHeading(page, "Agents");
    expect(await page.page.evaluate("[scrollY, document.getElementById('main').scrollTop]")).toEqual([0, 0]);
    expect(page.errors).toEqual([]);
  });
});
