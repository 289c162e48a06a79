import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { phone, type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

let running: RunningConsole;

beforeAll(async () => {
  running = await startConsole();
});
afterEach(() => running?.closeAll());
afterAll(() => running?.stop());

async function works(key: string): Promise<number> {
  return (await running.app.call("GET", "/v2/workspaces", { headers: { "x-api-key": key } })).status;
}

describe("API keys", () => {
  it("are shown once, copied, used, and revoked", async () => {
    const page = await running.open("/settings");
    await page.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.page.getByRole("table", { name: "API keys" }).getByText("this one").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("New key").click();
    const dialog = page.page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.text("Name it after what uses it").waitFor();
    expect(await page.violations()).toEqual([]);
    await dialog.getByLabel("Name").fill("pipeline");
    await dialog.getByLabel("Role", { exact: true }).selectOption("editor");
    await dialog.getByLabel("Expires").selectOption("30");
    await page.page.keyboard.press("Enter");
    await page.text("it is shown only once.").waitFor();
    await dialog.getByRole("button", { name: "Copy the key" }).click();
    const key = (await page.page.evaluate("navigator.clipboard.readText()")) as string;
    expect(await works(key)).toBe(200);
    expect(await page.violations()).toEqual([]);
    await dialog.getByRole("button", { name: "Done" }).click();
    const row = page.page.getByRole("row", { name: /pipeline/ });
    await row.getByText("Editor").waitFor();
    expect(await page.page.content()).not.toContain(key);

    await page.button("Revoke pipeline").click();
    await page.page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await works(key)).toBe(200);
    await page.button("Revoke pipeline").click();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await row.waitFor({ state: "detached" });
    expect(await works(key)).toBe(401);
    expect(page.errors).toEqual([]);
  });

  it("of a service do what they were made for, and nothing else", async () => {
    const page = await running.open("/settings");
    await page.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.button("New key").click();
    const dialog = page.page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("ci");
    await dialog.getByLabel("Service key").check();
    // Its role follows from its scopes.
    expect(await dialog.getByLabel("Role", { exact: true }).count()).toBe(0);
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText("Choose at least one.").waitFor();
    await dialog.getByLabel(/^deploy/).check();
    await dialog.getByLabel("Expires").selectOption("90");
    expect(await page.violations()).toEqual([]);
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.text("it is shown only once.").waitFor();
    await dialog.getByRole("button", { name: "Copy the key" }).click();
    const key = (await page.page.evaluate("navigator.clipboard.readText()")) as string;
    await dialog.getByRole("button", { name: "Done" }).click();
    const row = page.page.getByRole("row", { name: /^ci/ });
    await row.getByText("Only deploy").waitFor();
    await row.getByText("service", { exact: true }).waitFor();
    await row.getByText("as an editor").waitFor();
    await row.getByText(/^in [23] mo/).waitFor();

    const headers = { "x-api-key": key };
    const ask = async (method: string, path: string, body?: unknown) => {
      const answer = await running.app.call(method, path, { headers, body });
      return [answer.status, answer.headers.get("x-error-code")];
    };
    expect(await ask("GET", "/v2/deployments")).toEqual([200, null]);
    for (const [method, path, body] of [
      ["GET", "/v2/members"],
      ["GET", "/v2/api-keys"],
      ["GET", "/v2/audit-events"],
      ["POST", "/threads", {}],
      ["GET", "/api/v1/sessions"],
      ["GET", "/api/v1/bulk-exports"],
      ["GET", "/v2/auth/tokens"],
    ] as const)
      expect([path, (await ask(method, path, body))[0]]).toEqual([path, 403]);
    expect(await ask("POST", "/threads", {})).toEqual([403, "request.scope_missing"]);
    expect(page.errors).toEqual([]);
  });

  it("of model providers are pasted, shown by their end, and removed", async () => {
    const page = await running.open("/settings?tab=models");
    await page.button("Add a key of OpenAI").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("Add a key of OpenAI").click();
    const dialog = page.page.getByRole("dialog");
    await dialog.getByLabel("API key").fill("sk-test-0123456789abcdefWXYZ");
    expect(await page.violations()).toEqual([]);
    await page.page.keyboard.press("Enter");
    const row = page.page.getByRole("row", { name: /OpenAI/ });
    await row.getByText("…WXYZ").waitFor();
    expect(await page.page.content()).not.toContain("0123456789abcdef");
    await page.button("Remove the key of OpenAI").click();
    await dialog.getByRole("button", { name: "Remove" }).click();
    await row.getByText("none").waitFor();
    expect(page.errors).toEqual([]);
  });

  it("limited to scopes and to one tracing project say so, and fit a phone", async () => {
    const page = await running.open("/settings", { viewport: phone });
    await page.button("New key").click();
    const dialog = page.page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("tracer");
    await dialog.getByLabel("Restrict it to some scopes").check();
    await dialog.getByLabel("traces:write").check();
    await dialog.getByLabel("Tracing project").fill("weaver");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.text("it is shown only once.").waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    const row = page.page.getByRole("row", { name: /^tracer/ });
    await row.getByText("Only traces:write of the project weaver").waitFor();
    await row.getByRole("button", { name: "Revoke tracer" }).waitFor();
    expect(await page.overflowing()).toEqual([]);
    expect(await page.violations()).toEqual([]);
  });

  it("show all of themselves on an ordinary screen", async () => {
    const page = await running.open("/settings");
    await page.page.getByRole("row", { name: /^ci/ }).waitFor();
    const [inside, outside] = (await page.page.evaluate(`(() => {
      const box = document.querySelector(".table-box");
      return [box.scrollWidth, box.clientWidth];
    })()`)) as number[];
    expect(inside).toBeLessThanOrEqual(outside!);
  });

  it("made elsewhere show up without a reload", async () => {
    const page = await running.open("/settings");
    await page.page.getByRole("table", { name: "API keys" }).waitFor();
    await running.app.call("POST", "/v2/api-keys", { body: { name: "from elsewhere" } });
    await page.page.getByRole("row", { name: /from elsewhere/ }).waitFor();
  });
});

describe("members", () => {
  it("are added, given another role, and removed", async () => {
    const page = await running.open("/settings?tab=members");
    await page.button("Add a member").click();
    const dialog = page.page.getByRole("dialog");
    await dialog.getByLabel("Email").fill("ada");
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.text("Write an address like ada@example.com.").waitFor();
    await dialog.getByLabel("Email").fill("ada@example.com");
    await dialog.getByLabel("Name").fill("Ada");
    await dialog.getByRole("button", { name: "Add" }).click();
    const invitation = page.page.getByRole("dialog", { name: "Invite Ada" });
    const link = invitation.getByText(/\/sign-in#code=/);
    await link.waitFor();
    expect(await page.violations()).toEqual([]);
    const visitor = await running.open((await link.textContent())!.replace(/^https?:\/\/[^/]+/, ""), {
      apiKey: null,
    });
    await visitor.heading("Overview").waitFor();
    await visitor.page.close();
    await invitation.getByRole("button", { name: "Done" }).click();
    const row = page.page.getByRole("row", { name: /Ada/ });
    await row.waitFor();
    expect(await page.violations()).toEqual([]);
    await page.field("Role of Ada").selectOption("editor");
    await page.text("Ada is now editor.").waitFor();
    const { body } = await running.app.call<{ resources: { email: string; role: string }[] }>(
      "GET",
      "/v2/members",
    );
    expect(body.resources.find(({ email }) => email === "ada@example.com")?.role).toBe("editor");
    await page.button("Remove Ada").click();
    await dialog.getByRole("button", { name: "Remove" }).click();
    await row.waitFor({ state: "detached" });
    expect(page.errors).toEqual([]);
  });

  it("keep their last admin, and the refusal is said in words", async () => {
    const page = await running.open("/settings?tab=members");
    await page.button(/^Remove Admin/).click();
    const dialog = page.page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Remove" }).click();
    await dialog.getByRole("alert").waitFor();
    expect(await dialog.getByRole("alert").textContent()).toMatch(/admin/i);
    expect(await page.violations()).toEqual([]);
  });
});

describe("workspaces", () => {
  it("are made, entered, renamed and deleted by their name, on a phone", async () => {
    const page = await running.open("/settings?tab=workspaces", { viewport: phone });
    await page.button("New workspace").click();
    const dialog = page.page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Looms");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.button("Switch to Looms").waitFor();
    expect(await page.overflowing()).toEqual([]);
    expect(await page.violations()).toEqual([]);
    await page.button("Switch to Looms").click();
    await page.page.getByRole("row", { name: /Looms/ }).getByText("you are here").waitFor();
    // A reload stays there.
    await page.page.reload();
    await page.page.getByRole("row", { name: /Looms/ }).getByText("you are here").waitFor();
    await page.button("Rename Looms").click();
    await dialog.getByLabel("Name").fill("Spindles");
    await dialog.getByRole("button", { name: "Rename" }).click();
    await page.button("Delete Spindles").click();
    await dialog.getByRole("textbox").fill("Spindles");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.page.getByRole("row", { name: /Spindles/ }).waitFor({ state: "detached" });
    await page.text("you are here").waitFor();
    expect(page.errors).toEqual([]);
  });
});
