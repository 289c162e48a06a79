import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { git } from "../../../tests/support/components/git-repository.ts";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { isNeverPacked } from "./ignore-rules.ts";
import { listFiles, packFolder } from "./pack-folder.ts";

let folder: TempFolder;
beforeAll(async () => {
  folder = await createTempFolder("ignore-rules");
});
afterAll(() => folder.remove());

async function write(name: string, files: Record<string, string>): Promise<string> {
  const root = join(folder.path, name);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return root;
}

const tree = [
  ...[
    "a.log",
    "keep.log",
    "b.txt",
    "src/a.log",
    "src/x.ts",
    "src/deep/er/x.ts",
    "src/deep/notes.md",
    "build/out.js",
  ],
  ...[
    "src/build/out.js",
    "docs/a.pdf",
    "docs/sub/b.pdf",
    "tmp/x",
    "nested/own.txt",
    "nested/other.txt",
    "nested/z.log",
  ],
  ...[
    "#odd",
    "!bang",
    "file1.c",
    "file2.c",
    "filex.c",
    "a b.txt",
    "trailing ",
    "dist.txt",
    "x/dist/y",
    "a+b(c).txt",
  ],
];

/** Git itself decides what is right. */
test.each([
  ["names", "*.log\n!keep.log\n"],
  ["folders", "build/\ntmp/\n"],
  ["anchored", "/build\ndocs/*.pdf\n"],
  ["double stars", "**/er/\nsrc/**/x.ts\ndocs/**\n"],
  ["classes", "file[0-9].c\n?.txt\n"],
  ["odd names", "\\#odd\n\\!bang\na b.txt\n# a comment\n\n   \na+b(c).txt\n"],
  ["a folder that is ignored keeps its files out", "nested\n!nested/own.txt\n"],
  ["everything but", "/*\n!/src\n/src/*\n!/src/x.ts\n"],
  ["a name in the middle", "dist\n"],
])("leaves out what git leaves out: %s", async (name, rules) => {
  const files = Object.fromEntries(tree.map((path) => [path, path]));
  const root = await write(name, {
    ...files,
    ".gitignore": rules,
    "nested/.gitignore": "other.txt\n!z.log\n",
  });
  await git(root, "init", "--quiet");
  const expected = await git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z");
  const { paths } = await listFiles(root);
  expect(paths).toEqual(expected.split("\0").filter(Boolean).toSorted());
});

test(".dockerignore starts at the root and may bring files back", async () => {
  const root = await write("docker", {
    ".dockerignore": "# comment\n*.md\ndata\n!data/keep.csv\n**/*.tmp\n",
    "README.md": "",
    "docs/README.md": "",
    "data/big.bin": "",
    "data/keep.csv": "",
    "a/b/c.tmp": "",
    "index.js": "",
  });
  expect((await listFiles(root)).paths).toEqual([
    ".dockerignore",
    "data/keep.csv",
    "docs/README.md",
    "index.js",
  ]);
});

test.each([
  ["node_modules", true, true],
  [".git", true, true],
  [".venv", true, true],
  ["__pycache__", true, true],
  [".treadle", true, true],
  [".env", false, true],
  [".env.local", false, true],
  [".env.example", false, false],
  [".environment.ts", false, false],
  ["src", true, false],
])("%s is never packed: %s -> %s", (name, isFolder, never) => {
  expect(isNeverPacked(name, isFolder)).toBe(never);
});

test("the same files make the same archive, whenever they were written", async () => {
  const one = await packFolder(await write("one", { "a.txt": "a", "b/c.txt": "c" }));
  const two = await packFolder(await write("two", { "b/c.txt": "c", "a.txt": "a" }));
  const { readFile } = await import("node:fs/promises");
  expect(await readFile(one.file)).toEqual(await readFile(two.file));
  expect(one.paths).toEqual(["a.txt", "b/c.txt"]);
  await one.remove();
  await two.remove();
});
