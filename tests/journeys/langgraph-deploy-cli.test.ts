import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compiledAgent } from "../support/compiled-agent.ts";
import { runCommand } from "../support/components/run-command.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { type ControlPlaneServer, startControlPlane } from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

/** The unmodified command people have, against this server. */
const cliVersion = "1.5.1";

let plane: ControlPlaneServer;
let folder: TempFolder;
let database: TestDatabase;
let project: string;
let deploymentId: string;
/** Of a service that deploys and does nothing else, as in a CI. */
let deployKey: string;

const cli = (...args: string[]) => cliWith(deployKey, ...args);

async function cliWith(apiKey: string, ...args: string[]): Promise<string> {
  const binary = join(folder.path, "cli", "node_modules", ".bin", "langgraphjs");
  const { stdout } = await runCommand(binary, ["deploy", ...args, "--host-url", plane.url], {
    cwd: project,
    env: { LANGSMITH_API_KEY: apiKey, LANGGRAPH_CLI_NO_ANALYTICS: "1" },
    timeoutMs: 150_000,
  });
  return stdout;
}

const jsonLines = (text: string) =>
  text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await createTempFolder("deploy-cli");
  const tool = join(folder.path, "cli");
  await mkdir(tool);
  await writeFile(join(tool, "package.json"), JSON.stringify({ private: true }));
  const install = [
    "install",
    `@langchain/langgraph-cli@${cliVersion}`,
    "--legacy-peer-deps",
    "--no-audit",
    "--no-fund",
  ];
  await runCommand("npm", install, { cwd: tool, timeoutMs: 300_000 });
  project = join(folder.path, "project");
  await cp(fileURLToPath(new URL("../../examples/react-agent", import.meta.url)), project, {
    recursive: true,
  });
  plane = await startControlPlane({
    ...{ databaseUrl: database.url, folder: join(folder.path, "data") },
    settings: { compileCache: await compiledAgent() },
  });
  const made = await plane.call<{ key: string }>("POST", "/v2/api-keys", {
    name: "ci",
    service: true,
    scopes: ["deploy"],
  });
  expect([made.status, made.body]).toEqual([201, expect.objectContaining({ scopes: ["deploy"] })]);
  deployKey = made.body.key;
}, 400_000);

afterAll(async () => {
  await plane?.stop();
  await database?.drop();
  await folder?.remove();
});

describe("langgraphjs deploy", () => {
  const arguments_ = ["--name", "cli-agent", "--remote", "--json", "--no-input"];

  it("creates a deployment and waits until it is served", { timeout: 200_000 }, async () => {
    const result = jsonLines(await cli(...arguments_)).at(-1)!;
    expect(result).toMatchObject({ event: "result", status: "succeeded" });
    deploymentId = String(result.deployment_id);
    expect(await (await fetch(`${result.url}/ok`)).json()).toEqual({ ok: true });
    const page = await fetch(String(result.status_url), { redirect: "manual" });
    expect(page.status).toBe(302);
  });

  it("updates it", { timeout: 200_000 }, async () => {
    await writeFile(join(project, "notes.txt"), "something new");
    const result = jsonLines(await cli(...arguments_)).at(-1)!;
    expect(result).toMatchObject({ status: "succeeded", deployment_id: deploymentId });
    const listed = await cli("revisions", "list", deploymentId);
    expect(listed.match(/DEPLOYED/g)).toHaveLength(1);
    expect(listed.match(/REPLACED/g)).toHaveLength(1);
  });

  it("lists and shows both kinds of logs, and deletes for an admin", { timeout: 100_000 }, async () => {
    expect(await cli("list")).toContain("cli-agent");
    expect(await cli("logs", "--name", "cli-agent", "--type", "build")).toContain(
      "Reusing the packages that an earlier build installed",
    );
    expect(await cli("logs", "--deployment-id", deploymentId)).toContain("Serving agent");
    await expect(cli("delete", "--force", deploymentId)).rejects.toThrow("needs the role admin");
    expect(await cliWith(plane.apiKey, "delete", "--force", deploymentId)).toContain("Deleted");
    expect(await cli("list")).toContain("No deployments found");
  });
});
