import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createGzip, gzipSync } from "node:zlib";
import { create, Header, Pax } from "tar";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { unpackTarball } from "./tarball.ts";

let folder: TempFolder;
let count = 0;

beforeAll(async () => {
  folder = await createTempFolder("tarballs");
});
afterAll(() => folder?.remove());

type Entry = { path: string; type?: string; size?: number; linkpath?: string; text?: string };

function block({ path, type = "File", text = "", size = text.length, linkpath }: Entry): Buffer {
  const header = new Header({
    path,
    type: type as never,
    size,
    mode: 0o644,
    mtime: new Date(0),
    ...(linkpath ? { linkpath } : {}),
  });
  const head = Buffer.alloc(512);
  header.encode(head, 0);
  return Buffer.concat([head, Buffer.from(text), Buffer.alloc((512 - (text.length % 512)) % 512)]);
}

const end = Buffer.alloc(1024);
const limits = { maxBytes: 1_000_000, maxFiles: 1_000, signal: new AbortController().signal };

async function unpack(packed: Buffer, more: Partial<typeof limits> = {}): Promise<string> {
  count += 1;
  const file = join(folder.path, `${count}.tar.gz`);
  await writeFile(file, packed);
  const target = join(folder.path, `out-${count}`);
  await unpackTarball(file, target, { ...limits, ...more });
  return target;
}

const archive = (...parts: Buffer[]) => gzipSync(Buffer.concat([...parts, end]));

describe("archives", () => {
  it("are unpacked, compressed or not, with long names and links inside them", async () => {
    const long = `${"folder/".repeat(30)}file.txt`;
    const pax = new Pax({ path: long }).encode();
    const parts = [
      block({ path: "a.txt", text: "hello" }),
      block({ path: "dir/", type: "Directory" }),
      block({ path: "dir/link", type: "SymbolicLink", linkpath: "../a.txt" }),
      block({ path: "same.txt", type: "Link", linkpath: "a.txt" }),
      pax,
      block({ path: "short", text: "long" }),
    ];
    for (const packed of [archive(...parts), Buffer.concat([...parts, end])]) {
      const target = await unpack(packed);
      expect(await readFile(join(target, "a.txt"), "utf8")).toBe("hello");
      expect(await readFile(join(target, "dir/link"), "utf8")).toBe("hello");
      expect(await readFile(join(target, long), "utf8")).toBe("long");
    }
  });

  it("made by the library people pack with are unpacked", async () => {
    const source = join(folder.path, "packed");
    const file = join(folder.path, "packed.tar.gz");
    await mkdir(join(source, "src"), { recursive: true });
    await writeFile(join(source, "src/graph.ts"), "export {}");
    await create({ gzip: true, file, cwd: source }, ["src"]);
    await unpackTarball(file, join(folder.path, "unpacked"), limits);
    expect(await readFile(join(folder.path, "unpacked/src/graph.ts"), "utf8")).toBe("export {}");
  });

  it.each<[string, Buffer[]]>([
    ["a path upwards", [block({ path: "../x" })]],
    ["a path from the root", [block({ path: "/etc/x" })]],
    [
      "a longer path that overrides a harmless one",
      [new Pax({ path: "../../etc/x" }).encode(), block({ path: "x" })],
    ],
    ["a link out", [block({ path: "x", type: "SymbolicLink", linkpath: "../../etc/passwd" })]],
    ["a link from the root", [block({ path: "x", type: "SymbolicLink", linkpath: "/etc/passwd" })]],
    ["a hard link out", [block({ path: "x", type: "Link", linkpath: "../../etc/passwd" })]],
    [
      "a longer link target that overrides a harmless one",
      [
        new Pax({ path: "x", linkpath: "/etc/passwd" }).encode(),
        block({ path: "x", type: "SymbolicLink", linkpath: "y" }),
      ],
    ],
    ["a device", [block({ path: "x", type: "CharacterDevice" })]],
    ["a pipe", [block({ path: "x", type: "FIFO" })]],
    ["a sparse file", [block({ path: "x", type: "SparseFile" })]],
    ["a file in a folder too deep", [block({ path: `${"a/".repeat(80)}x` })]],
    ["a name too long", [new Pax({ path: "n".repeat(300) }).encode(), block({ path: "x" })]],
    ["control characters in a name", [block({ path: "a\u0007b" })]],
  ])("with %s are refused, and nothing is written", async (_what, parts) => {
    await expect(unpack(archive(...parts))).rejects.toThrow(/not permitted/);
    expect(await readdir(folder.path)).not.toContain(`out-${count}`);
  });

  it("with a description larger than any name are refused", async () => {
    const text = "x".repeat(200_000);
    const pax = block({ path: "PaxHeader", type: "ExtendedHeader", text });
    await expect(unpack(archive(pax, block({ path: "x" })))).rejects.toThrow(/not permitted|not a readable/);
  });

  it("that are none are refused", async () => {
    await expect(unpack(Buffer.from("hello"))).rejects.toThrow(/not a readable/);
    await expect(unpack(gzipSync("hello"))).rejects.toThrow(/not a readable/);
    await expect(unpack(archive(block({ path: "a", text: "b" })).subarray(0, 60))).rejects.toThrow(
      /not a readable/,
    );
    await expect(unpack(archive())).rejects.toThrow(/empty|not a readable/);
  });
});

/** An archive that is written as it is packed: unpacked it would not fit anywhere. */
async function bomb(name: string, parts: Iterable<Buffer>): Promise<string> {
  const file = join(folder.path, `${name}.tar.gz`);
  const gzip = createGzip({ level: 9 });
  const done = once(gzip.pipe(createWriteStream(file)), "finish");
  for (const part of parts) if (!gzip.write(part)) await once(gzip, "drain");
  gzip.end();
  await done;
  return file;
}

/** How much of the file was read before it was refused. */
async function refusedAfter(file: string, more: Partial<typeof limits>, what: RegExp): Promise<number> {
  const before = process.resourceUsage().maxRSS;
  const started = performance.now();
  await expect(unpackTarball(file, join(folder.path, "bomb"), { ...limits, ...more })).rejects.toThrow(what);
  const grown = process.resourceUsage().maxRSS - before;
  expect(grown).toBeLessThan(150_000);
  return performance.now() - started;
}

describe("archives that are traps are given up at the first limit, with memory that does not grow", () => {
  const zeros = Buffer.alloc(1024 * 1024);
  function* huge(megabytes: number): Iterable<Buffer> {
    yield block({ path: "zeros", size: megabytes * 1024 * 1024 }).subarray(0, 512);
    for (let at = 0; at < megabytes; at += 1) yield zeros;
  }
  function* many(entries: number): Iterable<Buffer> {
    for (let at = 0; at < entries; at += 1) yield block({ path: `f${at}` });
  }
  /** Descriptions of entries that never come: no file is counted, no byte of content is seen. */
  function* descriptions(entries: number): Iterable<Buffer> {
    const text = createHash("sha256").update("x").digest("hex").repeat(500);
    const one = block({ path: "PaxHeader", type: "ExtendedHeader", text });
    for (let at = 0; at < entries; at += 1) yield one;
  }

  it("one file that says how large it is", { timeout: 60_000 }, async () => {
    const file = await bomb("huge", huge(300));
    await refusedAfter(file, { maxBytes: 100_000_000 }, /more than 100000000 bytes/);
  });
  it("content that is a thousand times what was sent", { timeout: 60_000 }, async () => {
    const file = await bomb("ratio", huge(300));
    await refusedAfter(file, { maxBytes: 10_000_000_000 }, /200 times its size/);
  });
  it("more files than there may be", { timeout: 60_000 }, async () => {
    const file = await bomb("many", many(50_000));
    await refusedAfter(file, {}, /more than 1000 files/);
  });
  it("descriptions without end", { timeout: 60_000 }, async () => {
    const file = await bomb("descriptions", descriptions(5_000));
    await refusedAfter(file, {}, /200 times its size|more than 1000000 bytes|not a readable/);
  });
});
