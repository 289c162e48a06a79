import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { isReserved } from "../../src/control-plane/desired-state/secret-rules.ts";
import { runCommand } from "../support/components/run-command.ts";
import type { TempFolder } from "../support/components/temp-folder.ts";
import { blocksOf, statementsOf } from "../support/documented-commands.ts";
import { createDataParent, type RunningTreadle, startTreadle, treadleBin } from "../support/treadle.ts";

vi.setConfig({ testTimeout: 120_000 });

/** What is not run here, and which test runs it, or why nobody can. */
const elsewhere: readonly [start: RegExp, why: string][] = [
  [/^npm (ci|start)/, "tests/journeys/npm-start.test.ts"],
  [/^npm (run|test)/, "CI runs them"],
  [/^node bin\/treadle\.js agent/, "tests/journeys/agent-command.test.ts"],
  [
    /^treadle (new|dev)\b|uv venv/,
    "serves until it is stopped: tests/python and tests/journeys have their own",
  ],
  [/treadle(\.js)? (deploy|logs)|^cd my-agent|^cp -r examples/, "tests/journeys/command-line-deploy.test.ts"],
  [/^curl -N /, "a stream without an end: src/console/change-feed.test.ts"],
  [
    /docker|kubectl|helm|^git pull|^cd deploy|openssl rand|^\. \.\/\.env|runs\/wait -H "X-Api-Key: \$TREADLE_API_KEY"/,
    "tests/deploy.test.ts",
  ],
  [/^curl -sS "\$\(value url\)\/ok"|redeploy"/, "tests/journeys/deployment-revisions.test.ts"],
  [/"secret_references"/, "needs a cluster: tests/kubernetes/namespaces.test.ts"],
  [/"revision_source"/, "tests/journeys/deployment-sources.test.ts"],
  [/integrations\/github"/, "asks GitHub: tests/journeys/deployment-integrations.test.ts"],
  [/^npx @langchain\/langgraph-cli/, "tests/journeys/langgraph-deploy-cli.test.ts"],
  [/treadle plan set|organizations\/\$ORGANIZATION/, "tests/journeys/command-line-plan.test.ts"],
  [/TREADLE_URL=https:|^docs\/ci-deploy\.sh/, "tests/journeys/deployments.test.ts"],
  [/feedback\/tokens|\$LINK/, "tests/journeys/run-feedback.test.ts"],
  [/node my-program\.js/, "tests/journeys/tracing-sdk.test.ts"],
  [/\/wait\/\$AUTH_ID/, "waits for a person: tests/journeys/oauth.test.ts"],
  [/^treadle alerts test/, "needs a receiver: tests/journeys/command-line-alerts.test.ts"],
  [/^TREADLE_TRACES_URL=/, "needs a ClickHouse: tests/faults/clickhouse-at-start.test.ts"],
  [/^treadle traces migrate/, "needs a ClickHouse: tests/journeys/traces-migrate.test.ts"],
  [/rollback --help/, "only help"],
];
/** What stands for something of the reader's. */
const mine: Record<string, string> = {
  "treadle keys revoke KEY_ID":
    'treadle keys revoke "$(treadle keys list --json | node -p \'JSON.parse(require("fs").readFileSync(0)).find(({ name }) => name === "laptop").id\')"',
};

let parent: TempFolder;
let server: RunningTreadle;
beforeAll(async () => {
  parent = await createDataParent("documented");
  server = await startTreadle(["--data-dir", join(parent.path, ".treadle")]);
  const bin = join(parent.path, "shims");
  await mkdir(bin);
  // An answer that is no success ends a command, as a person would notice it.
  await writeFile(join(parent.path, ".curlrc"), "fail-with-body\nmax-time = 60\n");
  await writeFile(join(bin, "treadle"), `#!/bin/sh\nexec "${process.execPath}" "${treadleBin}" "$@"\n`, {
    mode: 0o755,
  });
  for (const name of ["docs", "examples", "bin", "node_modules"])
    await symlink(resolve(name), join(parent.path, name));
});
afterAll(async () => {
  await server?.stop();
  await parent?.remove();
});

const environment = () => ({
  HOME: parent.path,
  CURL_HOME: parent.path,
  PATH: `${join(parent.path, "shims")}:${process.env.PATH}`,
  KEY: server.ready.api_key!,
});
const placed = (text: string) =>
  text
    .replaceAll("http://127.0.0.1:8124", server.ready.url)
    // Nothing listens there: what is asked for is accepted, and its build fails at once.
    .replaceAll("https://github.com/me/my-agent.git", "http://127.0.0.1:9/my-agent.git")
    .replaceAll("https://hooks.example.com/", "http://127.0.0.1:9/");

const documents = ["README.md", "CONTRIBUTING.md"];
documents.push(
  ...(await readdir("docs")).filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`),
);

const withCommands: string[] = [];
for (const name of documents) {
  const blocks = blocksOf(await readFile(name, "utf8"));
  if (blocks.some(({ language }) => /^(sh|bash)$/.test(language))) withCommands.push(name);
}

describe("every command of", () => {
  test.each(withCommands)("%s works, or another test runs it", async (name) => {
    const script: string[] = ["set -eo pipefail"];
    let commands = 0;
    for (const { language, text, line } of blocksOf(await readFile(name, "utf8"))) {
      if (!/^(sh|bash)$/.test(language)) continue;
      script.push(`cd "${parent.path}"`, `echo "== ${name}:${line}" >&2`);
      for (const statement of statementsOf(text)) {
        const known = mine[statement.replace(/\s+#.*$/, "").trim()];
        if (known === undefined && elsewhere.some(([start]) => start.test(statement))) continue;
        script.push(placed(known ?? statement));
        commands += 1;
      }
    }
    const input = `${script.join("\n")}\n`;
    const { stderr } = await runCommand("bash", ["-s"], { env: environment(), cwd: parent.path, input });
    expect(stderr).toContain(`== ${name}`);
    expect({ name, commands }).toEqual({ name, commands: expect.any(Number) });
  });

  test("a reason names a test that is there", () => {
    const named = elsewhere.flatMap(([, why]) => why.match(/(tests|src)\/[\w/.-]+\.ts/g) ?? []);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });
});

describe("programs of the README", () => {
  test("the one that streams gets messages", async () => {
    const block = blocksOf(await readFile("README.md", "utf8")).find(
      ({ language, text }) => language === "ts" && text.includes("runs.stream"),
    );
    const file = join(parent.path, "stream.ts");
    await writeFile(file, placed(block!.text));
    const { stdout } = await runCommand(process.execPath, [file], { cwd: parent.path });
    expect(stdout.split("\n").filter((line) => line.startsWith("messages")).length).toBeGreaterThan(3);
  });
});

describe("secrets that an example asks for", () => {
  test("may be given to its deployment", async () => {
    for (const example of await readdir("examples")) {
      const path = join("examples", example, "README.md");
      if (!existsSync(path)) continue;
      const names = [...(await readFile(path, "utf8")).matchAll(/^\| `([A-Z_]+)` \|/gm)].map(
        ([, name]) => name!,
      );
      expect({ example, refused: names.filter((name) => isReserved(name, "self-hosted")) }).toEqual({
        example,
        refused: [],
      });
    }
  });
});
