import { describe, expect, it } from "vitest";
import { isArchiveName, readChosen, readDropped } from "./read-folder.ts";

const chosen = (paths: string[]) =>
  paths.map((webkitRelativePath) => ({ webkitRelativePath })) as unknown as File[];

type Tree = { [name: string]: Tree | string };

/** As a browser hands out what was dropped: two at a time. */
function entryOf(name: string, content: Tree | string): FileSystemEntry {
  if (typeof content === "string") {
    const file = (resolve: (file: File) => void) => resolve(new File([content], name));
    return { name, isDirectory: false, file } as unknown as FileSystemEntry;
  }
  const createReader = () => {
    const left = Object.entries(content).map(([inside, below]) => entryOf(inside, below));
    return { readEntries: (resolve: (some: FileSystemEntry[]) => void) => resolve(left.splice(0, 2)) };
  };
  return { name, isDirectory: true, createReader } as unknown as FileSystemEntry;
}

const dropped = (...entries: FileSystemEntry[]) =>
  entries.map((entry) => ({ webkitGetAsEntry: () => entry })) as unknown as DataTransferItemList;

describe("a chosen folder", () => {
  it("is read by the paths in it, without what is installed anew", () => {
    const found = readChosen(
      chosen(["bot/a.ts", "bot/src/b.ts", "bot/node_modules/x/i.js", "bot/.git/HEAD"]),
    );
    expect(found.name).toBe("bot");
    expect(found.files.map(({ path }) => path)).toEqual(["a.ts", "src/b.ts"]);
    expect(found.skipped).toEqual(["node_modules", ".git"]);
  });
});

describe("a dropped folder", () => {
  it("is read to its end, and not into what is installed anew", async () => {
    const tree = { "a.ts": "1", "b.ts": "2", "c.ts": "3", src: { "d.ts": "4" }, node_modules: { x: "5" } };
    const found = await readDropped(dropped(entryOf("bot", tree)));
    expect(found.files.map(({ path }) => path)).toEqual(["a.ts", "b.ts", "c.ts", "src/d.ts"]);
    expect(found).toMatchObject({ name: "bot", skipped: ["node_modules"] });
  });

  it("is one folder, no file and no two", async () => {
    await expect(readDropped(dropped(entryOf("a.ts", "1")))).rejects.toThrow("Drop one folder");
    await expect(readDropped(dropped(entryOf("a", {}), entryOf("b", {})))).rejects.toThrow("Drop one folder");
    await expect(readDropped(dropped())).rejects.toThrow("Drop one folder");
  });
});

it("an archive is known by its name", () => {
  expect(["bot.tar.gz", "Bot.TGZ", "bot.zip", "bot.gz", "tar.gz"].map(isArchiveName)).toEqual([
    ...[true, true, false, false, false],
  ]);
});
