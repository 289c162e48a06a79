import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { type ControlPlaneServer, startControlPlane } from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type DeploymentBody, deploy, gitDeployment, readExample, revisionDone } from "../support/deployments.ts";

let plane: ControlPlaneServer;
let git: GitServer;
let folder: TempFolder;
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await createTempFolder("deployments");
  git = await startGitServer();
  plane = await startControlPlane({
    databaseUrl: database.url,
    folder: folder.path,
    logLevel: process.env.TEST_LOG ?? "silent",
    settings: { bakeMs: 500, healthMs: 60_000 },
  });
});

afterAll(async () => {
  await plane?.stop();
  await git?.stop();
  await database?.drop();
  await folder?.remove();
});

describe("the examples, deployed from a git server", () => {
  it("react-agent answers a run through the gateway", { timeout: 180_000 }, async () => {
    const repository = await git.createRepository("react-agent", await readExample("react-agent"));
    const secrets = [{ name: "GREETING", value: "Ahoy there" }];
    const { deployment, revision } = await deploy(plane, gitDeployment("react-agent", repository.url, { secrets }));
    expect(revision).toMatchObject({ status: "DEPLOYED", progress: 100 });
    expect(revision.source_revision_config.repo_commit_sha).toBe(await repository.resolve("main"));
    const client = new Client({ apiUrl: deployment.url, apiKey: plane.apiKey });
    const thread = await client.threads.create();
    const input = { messages: [{ role: "user", content: "What is 6 * 7?" }] };
    const result = (await client.runs.wait(thread.thread_id, "agent", { input })) as { messages: { content: string }[] };
    expect(result.messages.at(-1)!.content).toBe("The answer is 42.");
    const chunks = [];
    const hello = { messages: [{ role: "user", content: "hi" }] };
    for await (const chunk of client.runs.stream(thread.thread_id, "agent", { input: hello, streamMode: ["updates"] })) {
      chunks.push(chunk);
    }
    expect(JSON.stringify(chunks)).toContain("Ahoy there! You said: hi");
  });
});
