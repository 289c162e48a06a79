import {
  type CheckpointSaverTestInitializer,
  deltaChannelHistoryTests,
  validate,
} from "@langchain/langgraph-checkpoint-validation";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import { raw } from "../../../platform/db/raw.ts";
import { CheckpointStore } from "../../checkpoints/checkpoint-store.ts";
import { type CheckpointSaver, createCheckpointSaver } from "./checkpoint-saver.ts";
import { type GraphKit, loadServerKit } from "./graph-kit.ts";

let kit: GraphKit;
let test: TestDatabase;

const initializer: CheckpointSaverTestInitializer<CheckpointSaver> = {
  checkpointerName: "treadle",
  beforeAllTimeout: 60_000,
  async beforeAll() {
    kit = await loadServerKit();
    test = await createTestDatabase({ poolSize: 3 });
  },
  async afterAll() {
    await test.drop();
  },
  /** Empty each time: the suite lists over all threads, and uses the same thread ids again. */
  async createCheckpointer() {
    await raw`truncate checkpoints, checkpoint_blobs, checkpoint_writes`.execute(test.database.sql);
    return createCheckpointSaver(kit, new CheckpointStore(test.database));
  },
};

// The suite takes the runner's functions from the global scope.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });
validate(initializer);
deltaChannelHistoryTests(initializer);
