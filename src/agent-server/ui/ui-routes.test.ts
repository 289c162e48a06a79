import { mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestAgentServer, type TestAgentServer } from "../../../tests/support/agent-server.ts";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { createLogger } from "../../platform/logger.ts";
import { UiBundles } from "./ui-bundles.ts";

// A bundle is made in a thread of its own, which a busy machine takes its time to start.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const modules = fileURLToPath(new URL("../../../node_modules", import.meta.url));
let folder: TempFolder;
let database: TestDatabase;
let server: TestAgentServer;

const sources: Record<string, string> = {
  "ui/card.tsx": `import "./card.css";
import "./plain.css";
import { useState } from "react";
import { shout } from "./shout";
import { chart } from "charts";
import dot from "./dot.png";
export default { card: () => <p className="bg-sky-100 before:content-['x']">{shout("card")}{chart}{dot}{useState}</p> };`,
  "ui/shout.ts": `export const shout = (text: string): string => text.toUpperCase();`,
  "ui/card.css": `@import "tailwindcss/theme" layer(theme);\n@import "tailwindcss/utilities" layer(utilities);`,
  "ui/plain.css": `.plain { color: red; }`,
  "ui/dot.png": "not really a picture",
  "ui/broken.tsx": `const a = 1;\nexport default { a: () => <p>{a</p> };`,
  "ui/styles.css": `@import "tailwindcss";\n.a {\n  @apply no-such-class;\n}`,
  "ui/badly-styled.tsx": `import "./styles.css";\nexport default {};`,
  "ui/lost.tsx": `import { gone } from "./gone";\nexport default { gone };`,
  "ui/nothing.tsx": `export const a = 1;`,
  "ui/changing.tsx": `export default { a: () => <p>first</p> };`,
};

async function write(name: string, text: string, changed = new Date()) {
  const path = join(folder.path, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await utimes(path, changed, changed);
}

beforeAll(async () => {
  [folder, database] = await Promise.all([createTempFolder("ui"), createTestDatabase({ poolSize: 2 })]);
  await symlink(modules, join(folder.path, "node_modules"));
  for (const [name, text] of Object.entries(sources)) await write(name, text);
  const ui = new UiBundles({
    directory: folder.path,
    files: new Map([
      ["slow", "ui/card.tsx"],
      ["an-alias", "ui/card.tsx"],
      ["broken", "ui/broken.tsx"],
      ["badly-styled", "ui/badly-styled.tsx"],
      ["lost", "ui/lost.tsx"],
      ["nothing", "ui/nothing.tsx"],
      ["missing", "ui/missing.tsx"],
      ["changing", "ui/changing.tsx"],
    ]),
    shared: ["charts"],
    logger: createLogger({ level: "silent" }),
  });
  server = await startTestAgentServer(database.url, { project: { ui } });
});
afterAll(async () => {
  await server?.stop();
  await database?.drop();
  await folder?.remove();
});

async function load(id: string, name = "card", headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/ui/${id}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ name }),
  });
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
}

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}${path}`, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

describe("a component", () => {
  test("comes as tags, and they lead to script and style", async () => {
    const { status, type, text } = await load("an-alias");
    expect([status, type]).toEqual([200, "text/html; charset=utf-8"]);
    const base = `${server.url}/ui/an-alias`;
    expect(text).toBe(
      `<link rel="stylesheet" href="${base}/entrypoint.css" />
<script src="${base}/entrypoint.js" onload='__LGUI_an_alias.render("card", "{{shadowRootId}}")'></script>`,
    );
    const script = await get("/ui/an-alias/entrypoint.js");
    expect(script.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(script.text).toMatch(/^(?:"use strict";\n)?var __LGUI_an_alias = /);
    for (const name of ["react", "react/jsx-runtime", "charts"]) {
      expect(script.text).toContain(`globalThis[Symbol.for("LGUI_REQUIRE")](${JSON.stringify(name)})`);
    }
    expect(script.text).toContain("data:image/png,not really a picture");
    const style = await get("/ui/an-alias/entrypoint.css");
    expect(style.headers.get("content-type")).toBe("text/css; charset=utf-8");
    expect(style.text).toContain(".bg-sky-100 {");
    expect(style.text).toContain(`.before\\:content-\\[\\'x\\'\\]`);
    expect(style.text).toContain(".plain {");
    const again = await get("/ui/an-alias/entrypoint.css", { "if-none-match": style.headers.get("etag")! });
    expect([again.status, again.text]).toEqual([304, ""]);
  });

  test("is found by graph and by assistant", async () => {
    const { assistant_id: made } = await server.client.assistants.create({ graphId: "slow" });
    const [, own] = [await load("slow"), await load(made)];
    expect(own).toEqual(await load("slow"));
    expect(own.text).toContain("/ui/slow/entrypoint.js");
    expect((await get(`/ui/${made}/entrypoint.js`)).status).toBe(200);
  });

  test("comes whole to a page whose tags would be refused, and to who brings a key", async () => {
    const port = new URL(server.url).port;
    const callers: Record<string, string>[] = [
      { origin: `http://localhost:${port}` },
      { "x-api-key": "some-key-or-other" },
    ];
    for (const headers of callers) {
      const { status, text } = await load("slow", "card", headers);
      expect(status).toBe(200);
      expect(text).toMatch(
        /^<style>[\s\S]*<\/style>\n<script>[\s\S]*__LGUI_slow\.render\("card", "\{\{shadowRootId\}\}"\);<\/script>$/,
      );
    }
  });
});

describe("404", () => {
  test.each(["nobody", "failing", "00000000-0000-4000-8000-000000000009"])("for %s", async (id) => {
    expect((await load(id)).status).toBe(404);
  });

  test.each([
    "/ui/slow/card.tsx",
    "/ui/slow/ui%2Fcard.tsx",
    "/ui/slow/..%2F..%2Fpackage.json",
    "/ui/slow/%2Fetc%2Fpasswd",
    "/ui/..%2Fui/entrypoint.js",
    "/ui/slow/__proto__",
  ])("for %s", async (path) => {
    expect((await get(path)).status).toBe(404);
  });
});

test.each([{}, { name: "" }, { name: 3 }])("422 for %j", async (body) => {
  const init = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  expect((await fetch(`${server.url}/ui/slow`, init)).status).toBe(422);
});

describe("409", () => {
  test.each([
    ["broken", /ui\/broken\.tsx:2:\d+: /],
    ["badly-styled", /ui\/styles\.css:3:10: .*no-such-class/],
    ["lost", /ui\/lost\.tsx:1:\d+: Could not resolve .*gone/],
    ["nothing", /ui\/nothing\.tsx: it has no default export/],
    ["missing", /ui\/missing\.tsx/],
  ])("names the place in what cannot be bundled: %s", async (id, place) => {
    const { status, text } = await load(id);
    expect(status).toBe(409);
    expect(JSON.parse(text).detail).toMatch(place);
  });
});

test("a file that changes is bundled again, also after a mistake", async () => {
  const script = async () => (await get("/ui/changing/entrypoint.js")).text;
  expect(await script()).toContain("first");
  await write("ui/changing.tsx", "export default { a: () => <p> };", new Date(Date.now() + 5_000));
  expect((await load("changing")).status).toBe(409);
  await write("ui/changing.tsx", `export default { a: () => <p>second</p> };`, new Date(Date.now() + 9_000));
  expect(await script()).toContain("second");
});

test("many who ask at once get one bundle", async () => {
  await write("ui/changing.tsx", `export default { a: () => <p>third</p> };`, new Date(Date.now() + 15_000));
  const all = await Promise.all(Array.from({ length: 20 }, () => get("/ui/changing/entrypoint.js")));
  expect(new Set(all.map(({ status, text }) => `${status} ${text.includes("third")}`))).toEqual(
    new Set(["200 true"]),
  );
});
