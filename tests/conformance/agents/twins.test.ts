import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningAgent, startAgent } from "../../support/agent-command.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { aroundJourneys } from "./around-journeys.ts";
import { differences, withoutDifferences } from "./differences.ts";
import { protocolJourneys } from "./protocol-journeys.ts";
import { stateJourneys } from "./state-journeys.ts";
import { streamJourneys } from "./stream-journeys.ts";
import { normalised } from "./transcript.ts";
import { clientOf, type Journeys, type Twin } from "./twin.ts";

/**
 * One project in two languages, with equal graph ids: clients get the same answers from both. What the two libraries do
 * differently has a name and a reason in `differences.ts`.
 */
let databases: TestDatabase[];
let agents: RunningAgent[];
let twins: Twin[];
const met = new Set<string>();

beforeAll(async () => {
  databases = await Promise.all([createTestDatabase(), createTestDatabase()]);
  agents = await Promise.all([start("typescript", databases[0]!), start("python", databases[1]!)]);
  twins = agents.map(({ ready: { url } }) => ({ url, client: clientOf(url) }));
});
afterAll(async () => {
  for (const agent of agents ?? []) expect(await agent.process.stop()).toMatchObject({ code: 0 });
  for (const database of databases ?? []) await database.drop();
});

function start(language: string, database: TestDatabase): Promise<RunningAgent> {
  const config = new URL(`../../fixtures/twins/${language}/langgraph.json`, import.meta.url);
  const python = { TREADLE_PYTHON: process.env.TREADLE_TEST_PYTHON! };
  return startAgent(fileURLToPath(config), { ...python, DATABASE_URL: database.url });
}

const groups: Record<string, Journeys> = {
  "what is streamed": streamJourneys,
  "threads and their states": stateJourneys,
  "what is around a graph": aroundJourneys,
  "the streaming protocol": protocolJourneys,
};

describe.each(Object.entries(groups))("%s", (_, journeys) => {
  it.each(Object.entries(journeys))("%s", async (name, journey) => {
    const [typescript, python] = await Promise.all(
      twins.map(async (twin) => normalised(withoutDifferences(name, await journey(twin), met))),
    );
    expect(python).toEqual(typescript);
  });
});

it("allows no difference that nobody meets any more", () => {
  expect(Object.keys(differences).filter((name) => !met.has(name))).toEqual([]);
});
