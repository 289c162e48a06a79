import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress } from "node:zlib";
import { create, Header } from "tar";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { packTree, unpackTree } from "./artifact-pack.ts";

let temp: TempFolder;
let outside: string;
beforeAll(async () => {
  temp = await createTempFolder("pack");
  outside = join(temp.path, "outside");
  await mkdir(outside);
});
afterAll(() => temp?.remove());

/** A field of an archive's header, as it counts its own length. */
function field(name: string, value: string): string {
  const rest = ` ${name}=${value}\n`;
  let length = rest.length;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return `${length}${rest}`.trimEnd();
}

async function save(chunks: AsyncIterable<Buffer>): Promise<string> {
  const file = join(temp.path, randomUUID());
  await pipeline(Readable.from(chunks, { objectMode: false }), createZstdCompress(), createWriteStream(file));
  return file;
}

async function unpack(file: string): Promise<string> {
  const folder = join(temp.path, randomUUID());
  await unpackTree(createReadStream(file), folder);
  return folder;
}

type Made = { path: string; type?: "File" | "Link" | "SymbolicLink" | "Directory"; linkpath?: string };

async function* handMade(entries: Made[]): AsyncGenerator<Buffer> {
  for (const entry of entries) {
    const type = entry.type ?? "File";
    const header = new Header({
      ...entry,
      type,
      mode: 0o755,
      size: type === "File" ? 5 : 0,
      mtime: new Date(),
    });
    header.encode();
    yield header.block!;
    if (type === "File") yield Buffer.concat([Buffer.from("owned"), Buffer.alloc(507)]);
  }
  yield Buffer.alloc(1024);
}

test.each([
  [
    "a folder",
    async (tree: string, to: string) => {
      const path = join(tree, `é\n${field("path", to)}`);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, "owned");
    },
  ],
  [
    "what a link leads to",
    (tree: string, to: string) => symlink(`é\n${field("path", to)}`, join(tree, "link")),
  ],
])("another path in the name of %s is not packed, and not unpacked where it was", async (_name, plant) => {
  const tree = join(temp.path, randomUUID());
  await mkdir(tree);
  await plant(tree, join(outside, "owned"));
  await expect(packTree(tree).next()).rejects.toMatchObject({ code: "build.failed" });
  const packed = create({ cwd: tree, preservePaths: true }, ["."]) as AsyncIterable<Buffer>;
  const file = await save(packed);
  await expect(unpack(file)).rejects.toThrow(`leads out of its folder: "${outside}/owned"`);
  expect(await readdir(outside)).toEqual([]);
});

test.each<[string, (to: string) => Made[]]>([
  ["an absolute path", (to) => [{ path: `${to}/owned` }]],
  ["a path upwards", () => [{ path: "../outside/owned" }]],
  ["a path upwards from within", () => [{ path: "a/../../outside/owned" }]],
  ["a hard link out of it", (to) => [{ path: "a", type: "Link", linkpath: `${to}/../target` }]],
  [
    "a path below a link",
    (to) => [{ path: "a", type: "SymbolicLink", linkpath: to }, { path: "./a//owned" }],
  ],
  [
    "a folder in place of a link",
    (to) => [
      { path: "a", type: "SymbolicLink", linkpath: to },
      { path: "a/", type: "Directory" },
    ],
  ],
  [
    "a hard link through a link",
    (to) => [
      { path: "a", type: "SymbolicLink", linkpath: dirname(to) },
      { path: "b", type: "Link", linkpath: "a/target" },
    ],
  ],
])("an archive with %s writes nothing outside", async (_name, made) => {
  await writeFile(join(temp.path, "target"), "");
  const file = await save(handMade(made(outside)));
  await expect(unpack(file)).rejects.toThrow("leads out of its folder");
  expect(await readdir(outside)).toEqual([]);
});

test("links that lead elsewhere, and hard links within, are unpacked", async () => {
  const file = await save(
    handMade([
      { path: "./", type: "Directory" },
      { path: "./python", type: "SymbolicLink", linkpath: "/usr/bin/python3" },
      { path: "./a" },
      { path: "./b", type: "Link", linkpath: "a" },
    ]),
  );
  expect((await readdir(await unpack(file))).toSorted()).toEqual(["a", "b", "python"]);
});
