import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { expect, onTestFinished, test } from "vitest";
import { startAgent } from "../support/agent-command.ts";
import { createTestDatabase } from "../support/database.ts";

const project = fileURLToPath(new URL("../fixtures/graphs/typescript/langgraph.json", import.meta.url));

test("an agent server tells the types that a graph's author wrote", { timeout: 120_000 }, async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const agent = await startAgent(project, { DATABASE_URL: database.url });
  onTestFinished(async () => {
    await agent.process.stop();
  });
  const client = new Client({ apiUrl: agent.ready.url, callerOptions: { maxRetries: 0 } });
  const rich = await client.assistants.getSchemas("rich");
  expect(rich.state_schema).toMatchObject({
    properties: { status: { type: "string", enum: ["closed", "open"] } },
  });
  const { config_schema, context_schema } = await client.assistants.getSchemas("configured");
  expect(context_schema).toMatchObject({
    properties: { model: { type: "string", enum: ["large", "small"] }, temperature: { type: "number" } },
  });
  expect(config_schema).toEqual(context_schema);
});
