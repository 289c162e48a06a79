import { describe, expect, it } from "vitest";
import { commandProblem, splitCommand } from "./command-guard.ts";
import { configPathProblem, parseRepoUrl, refProblem } from "./git/repo-url.ts";
import { foldersUp, managerPackage, parsePackageManager, planInstall } from "./node/package-manager.ts";

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
