import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

/** What `GET /assistants/{id}/schemas` returns for a project whose state and config are TypeScript types alone. */
const typed = fileURLToPath(new URL("../fixtures/projects/typed/langgraph.json", import.meta.url));

let database: TestDatabase;
let agent: RunningAgent;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  agent = await startAgent(typed, { DATABASE_URL: database.url });
  client = new Client({ apiUrl: agent.ready.url, apiKey: null, callerOptions: { maxRetries: 0 } });
});
afterAll(async () => {
  await agent?.process.stop();
  await database?.drop();
});

const config = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  properties: {
    model: { type: "string", enum: ["large", "small"], description: "Which model answers." },
    temperature: { type: "number" },
    labels: { type: "array", items: { type: "string" } },
  },
  required: ["model", "temperature", "labels"],
};

describe("schemas", () => {
  test.each(["configured", "made"])("of an annotated config: %s", async (graphId) => {
    const schemas = await client.assistants.getSchemas(graphId);
    expect(schemas).toMatchObject({ graph_id: graphId, config_schema: config, context_schema: config });
    expect(schemas).not.toHaveProperty("problem");
    expect(schemas.state_schema?.properties).toEqual({
      answer: { type: "string" },
      tries: { type: "number" },
    });
  });

  test("of a context in zod stay as the graph tells them, its state as its types do", async () => {
    const { context_schema, state_schema } = await client.assistants.getSchemas("contextual");
    expect(context_schema).toMatchObject({ properties: { user: { type: "string" } }, required: ["user"] });
    expect(state_schema?.properties).toMatchObject({ answer: { type: "string" } });
  });

  test("of a graph without a config name none", async () => {
    const { config_schema, context_schema } = await client.assistants.getSchemas("unconfigured");
    expect([config_schema, context_schema]).toEqual([null, null]);
  });
});
