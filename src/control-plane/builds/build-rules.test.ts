import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { commandProblem, splitCommand } from "./command-guard.ts";
import { configPathProblem, parseRepoUrl, refProblem } from "./git/repo-url.ts";
import { foldersUp, managerPackage, parsePackageManager, planInstall } from "./node/package-manager.ts";
import { repeatableInstall } from "./node/repeatable-install.ts";
import { treesBeyond } from "./node/tree-eviction.ts";

describe("commands", () => {
  it.each(["npm ci", "pnpm install && pnpm run build", "yarn workspace 'my app' build"])(
    "permits %s",
    (command) => {
      expect(commandProblem(command)).toBeNull();
    },
  );
  it.each([
    'echo "x"',
    "a `b`",
    "a\\b",
    "a\nb",
    "a\tb",
    "a | b",
    "a ; b",
    "a $B",
    "a < b",
    "a > b",
    "a & b",
    " ",
    "a &&& b",
  ])("refuses %j", (command) => {
    expect(commandProblem(command)).not.toBeNull();
  });
  it("are split without a shell", () => {
    expect(splitCommand("npm ci && node 'my script.js' --x")).toEqual([
      ["npm", "ci"],
      ["node", "my script.js", "--x"],
    ]);
  });
});

describe("repository addresses", () => {
  it.each([
    ["https://github.com/a/b.git", "http"],
    ["ssh://git@host:2222/a/b.git", "ssh"],
    ["git@github.com:a/b.git", "ssh"],
    ["file:///srv/a", "local"],
    ["/srv/a", "local"],
  ])("%s is %s", (text, kind) => {
    expect(parseRepoUrl(text)).toMatchObject({ kind });
  });
  it.each([
    ["HTTPS://GitHub.COM/a/b.git", "https://github.com/a/b.git"],
    ["https://github.com:443/a/../b.git", "https://github.com/b.git"],
    ["http://0x7f.1/a", "http://127.0.0.1/a"],
    ["https://host/a b".replace(" ", "%20"), "https://host/a%20b"],
    ["ssh://git@Host:2222/a/b.git", "ssh://git@host:2222/a/b.git"],
    ["git@GitHub.com:a/b.git", "git@github.com:a/b.git"],
    ["file:///srv/a%20b".replace("%20", "-"), "/srv/a-b"],
  ])("of %s git is given %s, written anew", (text, given) => {
    expect(parseRepoUrl(text)).toMatchObject({ text: given });
  });
  it.each([
    "ext::sh -c id",
    "-oProxyCommand=id",
    "https://user:pass@host/a",
    "https://token@host/a",
    "ftp://host/a",
    "ssh://-oProxyCommand=x/a",
    "relative/path",
    "file://host/a",
    // One parser reads the first host in these, another the second.
    "http://8.8.8.8\\@127.0.0.1/x.git",
    "http://8.8.8.8\\\\@127.0.0.1/x.git",
    "https://github.com\\.evil.example/a",
    "https://github.com@evil.example/a",
    "https://github.com:@evil.example/a",
    "https://@github.com/a",
    "https:github.com/a",
    "https:///github.com/a",
    "https://github.com%2f@evil.example/a",
    "https://github.com%00.evil.example/a",
    "https://g\u0456thub.com/a",
    "https://github\uff0ecom/a",
    "https://github.com/a?service=x",
    "https://github.com/a#b",
    "https://github.com/a\u0001b",
    "https://github.com/a\u200bb",
    "https://github.com/a\rb",
    "https://github.com:99999/a",
    "ssh://-oProxyCommand=id@host/a",
    "ssh://host@evil@host/a",
    "ssh://git:secret@host/a",
    "ssh://host:70000/a",
    "-u@host:a",
    "git@host:-oProxyCommand=id",
    "git@ho\\st:a",
    "fd::17",
    "git://host/a",
    "file:///a%00b",
    "file:///a?b",
  ])("%s is refused", (text) => {
    expect(parseRepoUrl(text)).toHaveProperty("problem");
  });
});

describe("refs and paths", () => {
  it.each(["main", "feature/x", "refs/tags/v1.0", "v1.0", "a".repeat(40)])("%s is a ref", (ref) => {
    expect(refProblem(ref)).toBeNull();
  });
  it.each([
    "-x",
    "a..b",
    "a b",
    "a:b",
    "a^",
    "a~1",
    "@{1}",
    "a.lock",
    "a.lock/b",
    ".a",
    "a/.b",
    "@",
    "",
    "a//b",
    "a*",
    "a\u0001",
  ])("%j is none", (ref) => {
    expect(refProblem(ref)).not.toBeNull();
  });
  it.each(["/etc/x.json", "../x.json", "a/../../x.json", "a\\b.json", "langgraph.yaml"])(
    "%s is no config path",
    (path) => {
      expect(configPathProblem(path)).not.toBeNull();
    },
  );
});

describe("installing", () => {
  const folder = (name: string, ...files: string[]) => ({ folder: name, files: new Set(files) });

  it("looks from the config file's folder up to the root", () => {
    expect(foldersUp("apps/agent")).toEqual(["apps/agent", "apps", ""]);
    expect(foldersUp(".")).toEqual([""]);
  });

  it("follows the nearest lock file, which in a monorepo is further up", () => {
    const plan = planInstall([
      folder("apps/agent", "package.json"),
      folder("apps"),
      folder("", "package.json", "pnpm-lock.yaml"),
    ]);
    expect(plan).toMatchObject({ folder: "", command: "pnpm" });
    expect(planInstall([folder("", "package.json", "package-lock.json")])).toMatchObject({
      command: "npm",
      args: ["ci"],
    });
    expect(planInstall([folder("", "package.json", "yarn.lock")])).toMatchObject({ command: "yarn" });
  });

  it("installs without a lock file, and nothing without a package.json", () => {
    expect(planInstall([folder("a", "package.json"), folder("", "package.json")])).toMatchObject({
      folder: "a",
      args: ["install"],
    });
    expect(planInstall([folder("", "langgraph.json", "yarn.lock")])).toBeNull();
  });

  it("takes the package manager, and its version, that the project names", () => {
    const folder = (files: string[], more: object = {}) => ({ folder: "", files: new Set(files), ...more });
    const pnpm = folder(["package.json", "pnpm-lock.yaml"], { packageManager: "pnpm@9.1.0+sha512.abc" });
    expect(planInstall([pnpm])).toMatchObject({ command: "pnpm", version: "9.1.0" });
    const yarn = ["package.json", "yarn.lock"];
    expect(planInstall([folder(yarn)])).toMatchObject({
      args: ["install", "--frozen-lockfile", "--non-interactive"],
    });
    expect(planInstall([folder(yarn, { modernYarn: true })])).toMatchObject({
      args: ["install", "--immutable"],
      version: "4",
    });
    const bare = folder(["package.json"], { packageManager: "yarn@4.5.0" });
    expect(planInstall([bare])).toMatchObject({ command: "yarn", args: ["install"], version: "4.5.0" });
    expect(parsePackageManager("pnpm@latest")).toBeNull();
    expect(parsePackageManager("sh@1.0.0")).toBeNull();
  });

  it("knows where a package manager comes from", () => {
    expect(managerPackage("pnpm", null).spec).toBe("pnpm@10");
    expect(managerPackage("yarn", "1.22.19").spec).toBe("yarn@1.22.19");
    expect(managerPackage("yarn", "4.5.0").spec).toBe("@yarnpkg/cli-dist@4.5.0");
  });
});

describe("an install is kept for later builds", () => {
  const machine = { os: "linux", cpu: "x64", libc: "glibc" };
  const fixed = { resolved: "https://registry.npmjs.org/a/-/a.tgz", integrity: `sha512-${"a".repeat(86)}==` };
  const install = (
    packages: Record<string, object>,
    {
      manifest = {},
      npmrc = null,
      ...lock
    }: { manifest?: object; npmrc?: string | null; [more: string]: unknown } = {},
  ) =>
    repeatableInstall(
      {
        manifest: JSON.stringify(manifest),
        lock: JSON.stringify({ lockfileVersion: 3, packages: { "": {}, ...packages }, ...lock }),
        npmrc,
      },
      machine,
    );
  const a = { "node_modules/a": fixed };

  it("where everything is fixed by its checksum, with what npm makes here", () => {
    expect(
      install(
        {
          ...a,
          "node_modules/d": { version: "1.2.3-beta.1", integrity: fixed.integrity },
          "node_modules/mac": { ...fixed, optional: true, os: ["darwin"], hasInstallScript: true },
          "node_modules/mac/node_modules/@b/c": { inBundle: true, optional: true },
          "node_modules/musl": { ...fixed, optional: true, os: ["linux"], libc: ["musl"] },
          "node_modules/here": { ...fixed, optional: true, os: ["linux"], cpu: ["x64"], libc: ["glibc"] },
        },
        {
          manifest: { scripts: { build: "tsc", test: "vitest" } },
          npmrc: "# ours\nregistry = https://x\n@me:registry=https://x\n//x/:_authToken=secret\n",
        },
      ),
    ).toEqual({
      packages: ["node_modules/a", "node_modules/d", "node_modules/here"],
      runsScripts: false,
    });
  });

  it("of the starter project", async () => {
    const read = (name: string) =>
      readFile(new URL(`../../../templates/typescript/${name}`, import.meta.url), "utf8");
    const [manifest, lock] = await Promise.all([read("package.json"), read("package-lock.json")]);
    expect(repeatableInstall({ manifest, lock, npmrc: null }, machine)).toMatchObject({ runsScripts: false });
  });

  it("with scripts that look at packages alone", () => {
    const esbuild = { ...fixed, version: "1.0.0", hasInstallScript: true };
    const program = { "node_modules/@esbuild/linux-x64": { ...fixed, version: "1.0.0", optional: true } };
    const other = { "node_modules/@esbuild/linux-x64": { ...fixed, version: "1.0.1", optional: true } };
    const nested = { "node_modules/vite/node_modules/esbuild": esbuild };
    expect(install({ ...nested, ...program })).toMatchObject({ runsScripts: true });
    expect(install({ "node_modules/esbuild": { ...esbuild, name: "other" }, ...program })).toBeNull();
    // It would fetch its program by itself.
    expect(install(nested)).toBeNull();
    expect(install({ ...nested, ...other })).toBeNull();
  });

  it("after a look that takes no longer than its texts are long", () => {
    const long = 200_000;
    const begun = performance.now();
    const version = `1.1.${"1".repeat(long)}!`;
    expect(install(a, { npmrc: `//${"a".repeat(long)}` })).toBeNull();
    expect(install({ "node_modules/a": { version, integrity: fixed.integrity } })).toBeNull();
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(install(a, { npmrc: "//host:8080/path/:_authToken=secret" })).not.toBeNull();
  });

  it.each<[string, Parameters<typeof install>]>([
    ["a package's script", [{ "node_modules/prisma": { ...fixed, hasInstallScript: true } }]],
    ["a script in the lock file", [{ "node_modules/a": { ...fixed, scripts: { install: "id" } } }]],
    ...["preinstall", "install", "postinstall", "prepare"].map(
      (name): [string, Parameters<typeof install>] => [
        `its own ${name}`,
        [a, { manifest: { scripts: { [name]: "node x.js" } } }],
      ],
    ),
    ["workspaces", [a, { manifest: { workspaces: ["a"] } }]],
    [
      "a folder of the project",
      [{ "packages/a": {}, "node_modules/a": { link: true, resolved: "packages/a" } }],
    ],
    ["a file of the project", [{ "node_modules/a": { ...fixed, resolved: "file:a.tgz" } }]],
    ["a commit", [{ "node_modules/a": { ...fixed, resolved: "git+ssh://git@host/a.git#abc" } }]],
    ["a folder as its version", [{ "node_modules/a": { version: "file:a", integrity: fixed.integrity } }]],
    ["no checksum", [{ "node_modules/a": { resolved: fixed.resolved } }]],
    ["a weak checksum", [{ "node_modules/a": { ...fixed, integrity: "sha1-abc=" } }]],
    ["what should be in another's archive", [{ ...a, "node_modules/a/node_modules/b": { inBundle: true } }]],
    [
      "what is in the project's own archive",
      [{ "node_modules/a": { inBundle: true, resolved: "file:a.tgz" } }],
    ],
    ["a package with a lock file of its own", [{ "node_modules/a": { ...fixed, hasShrinkwrap: true } }]],
    ["a path that leads out", [{ "node_modules/../a": fixed }]],
    ["an older lock file", [a, { lockfileVersion: 1 }]],
    ["no list of packages", [a, { packages: undefined }]],
    ["a setting that names a file", [a, { npmrc: "globalconfig=./more" }]],
    ["a setting that names a program", [a, { npmrc: "script-shell=./sh" }]],
    ["settings in sections", [a, { npmrc: "[x]\nregistry=https://x" }]],
  ])("but not with %s", (_what, given) => {
    expect(install(...given)).toBeNull();
  });
});

describe("kept installs are removed", () => {
  const limits = { maxBytes: 100, maxTrees: 3, maxIdleMs: 1_000, freeBytes: 50 };
  const tree = (key: string, idleMs: number, bytes = 30, isInUse = false) => ({
    key,
    bytes,
    idleMs,
    isInUse,
  });
  const much = 1_000;

  it.each([
    ["none while all fit", [tree("a", 2), tree("b", 1)], 30, much, [], true],
    [
      "longest unused first, for size",
      [tree("new", 1), tree("old", 9), tree("mid", 5, 40)],
      40,
      much,
      ["old", "mid"],
      true,
    ],
    ["for number", [tree("a", 3, 1), tree("b", 2, 1), tree("c", 1, 1)], 1, much, ["a"], true],
    ["what nobody used for long", [tree("a", 1_001), tree("b", 1)], 0, much, ["a"], true],
    ["never what is in use", [tree("a", 9_999, 90, true)], 20, much, [], false],
    ["when the disk is nearly full", [tree("a", 2), tree("b", 1)], 0, 40, ["a"], true],
    ["and no more is kept on a full one", [tree("a", 2), tree("b", 1)], 30, 10, ["a", "b"], false],
  ])("%s", (_what, kept, bytes, freeBytes, remove, fits) => {
    expect(treesBeyond(kept, limits, { bytes, freeBytes })).toEqual({ remove, fits });
  });
});
