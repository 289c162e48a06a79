import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { list, type ReadEntry } from "tar";
import { expect, it } from "vitest";
import {
  archiveProblem,
  mostFileBytes,
  mostFiles,
  mostPackedBytes,
  packFiles,
  sizeProblem,
} from "./pack-files.ts";

const file = (path: string, text: string) => ({ path, content: new Blob([text]) });

async function unpacked(archive: Blob): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const parser = list({
    onReadEntry(entry: ReadEntry) {
      found[entry.path] = "";
      entry.on("data", (chunk) => {
        found[entry.path] += String(chunk);
      });
    },
  });
  await new Promise<void>((resolve, reject) => {
    parser.on("end", () => resolve());
    parser.on("error", reject);
    Readable.from([Buffer.from([])]).pipe(parser as never, { end: false });
    void archive.arrayBuffer().then((bytes) => parser.end(Buffer.from(bytes)));
  });
  return found;
}

it("packs what the server unpacks: long paths, other letters, empty and large files", async () => {
  const deep = `${"folder/".repeat(30)}file-with-a-long-name.ts`;
  const large = "x".repeat(300_000);
  const done: number[] = [];
  const files = [file("langgraph.json", "{}"), file("ü/ñ.py", "ü"), file("empty", ""), file(deep, large)];
  const archive = await packFiles(files, (count) => done.push(count));
  expect(await unpacked(archive)).toEqual({
    "langgraph.json": "{}",
    "ü/ñ.py": "ü",
    empty: "",
    [deep]: large,
  });
  expect(done).toEqual([1, 2, 3, 4]);
});

it("makes the same bytes of the same files", async () => {
  const digest = async () => {
    const archive = await packFiles([file("a", "1"), file("b", "2")]);
    return createHash("sha256")
      .update(new Uint8Array(await archive.arrayBuffer()))
      .digest("hex");
  };
  expect(await digest()).toBe(await digest());
});

it("says what to do when a file cannot be read any more", async () => {
  const gone = {
    size: 3,
    stream: () => new ReadableStream({ start: (sink) => sink.error(new Error("gone")) }),
  };
  await expect(packFiles([{ path: "a", content: gone as unknown as Blob }])).rejects.toThrow(
    "choose it again",
  );
});

it("refuses what is too much before it is read", () => {
  expect(sizeProblem(10, 1_000)).toBeNull();
  expect(sizeProblem(mostFiles + 1, 1_000)).toContain("at most 20000");
  expect(sizeProblem(10, mostFileBytes + 1)).toContain("at most 1");
});

it("an archive made elsewhere is refused with what to change", () => {
  expect(archiveProblem("bot.tar.gz", mostPackedBytes)).toBeNull();
  expect(archiveProblem("bot.zip", 10)).toMatch(/^bot\.zip is not a \.tar\.gz\. Pack the project with tar/);
  expect(archiveProblem("bot.tgz", 0)).toMatch(/^bot\.tgz is empty\. Pack the project again/);
  expect(archiveProblem("bot.tgz", mostPackedBytes + 1)).toMatch(
    /at most 210 MB .*Leave out what is not needed/,
  );
});
