import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createTempFolder, type TempFolder } from "../../../../tests/support/components/temp-folder.ts";
import type { InstallSite } from "../installer.ts";
import type { InstalledTrees } from "./installed-trees.ts";
import type { ManagerTools } from "./manager-tools.ts";
import { NodeInstaller } from "./node-installer.ts";

let folder: TempFolder;
const environment = { PATH: [dirname(process.execPath), process.env.PATH!].join(delimiter) };
const locked = { version: "1.0.0", integrity: `sha512-${"a".repeat(86)}==` };
const lock = { lockfileVersion: 3, packages: { "": {}, "node_modules/a": locked } };

beforeAll(async () => {
  folder = await createTempFolder("node-installer");
});
afterAll(() => folder?.remove());

it.each<[string, { isKept: boolean; hasOwnPrograms?: boolean; isMoved?: boolean }]>([
  ["where npm made them", { isKept: true }],
  ["not beside programs of the project, which may be another npm", { isKept: false, hasOwnPrograms: true }],
  ["not behind a link that came in place of a folder", { isKept: false, isMoved: true }],
])("keeps installed packages %s", async (what, { isKept, hasOwnPrograms = false, isMoved }) => {
  const tree = join(folder.path, what.replaceAll(" ", "-"));
  const home = join(tree, "in");
  await mkdir(home, { recursive: true });
  await writeFile(join(home, "package.json"), "{}");
  await writeFile(join(home, "package-lock.json"), JSON.stringify(lock));
  const keep = vi.fn(async () => undefined);
  const installed = { take: async () => false, keep } as unknown as InstalledTrees;
  const managers = { provide: async () => [] } as unknown as ManagerTools;
  const signal = AbortSignal.timeout(60_000);
  const site: InstallSite = {
    ...{ tree, configPath: "in/langgraph.json", workspaceId: "own", user: undefined, hasOwnPrograms },
    place: () => ({ workFolder: tree, timeoutMs: 1, signal, onLine: () => undefined }),
    note: async () => undefined,
    addToPath: () => undefined,
    run: async () => {
      if (!isMoved) return;
      await rm(home, { recursive: true });
      await mkdir(`${tree}-elsewhere`);
      await symlink(`${tree}-elsewhere`, home);
    },
  };
  await new NodeInstaller({ managers, installed, environment }).install(site);
  expect(keep).toHaveBeenCalledTimes(isKept ? 1 : 0);
});
