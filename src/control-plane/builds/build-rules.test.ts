import { describe, expect, it } from "vitest";
import { commandProblem, splitCommand } from "./command-guard.ts";
import { foldersUp, managerPackage, parsePackageManager, planInstall } from "./package-manager.ts";
import { configPathProblem, parseRepoUrl, refProblem } from "./repo-url.ts";

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
    "ext::sh -c id",
    "-oProxyCommand=id",
    "https://user:pass@host/a",
    "https://token@host/a",
    "ftp://host/a",
    "ssh://-oProxyCommand=x/a",
    "relative/path",
    "file://host/a",
  ])("%s is refused", (text) => {
    expect(parseRepoUrl(text)).toHaveProperty("problem");
  });
});

describe("refs and paths", () => {
  it.each(["main", "feature/x", "refs/tags/v1.0", "v1.0", "a".repeat(40)])("%s is a ref", (ref) => {
    expect(refProblem(ref)).toBeNull();
  });
  it.each(["-x", "a..b", "a b", "a:b", "a^", "a~1", "@{1}", "a.lock", "a//b", "a*", "a\u0001"])(
    "%j is none",
    (ref) => {
      expect(refProblem(ref)).not.toBeNull();
    },
  );
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
