import { defineConfig } from "vitest/config";
import { SlowFirst } from "./tests/support/slow-first.ts";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "tests/**/*.test.ts", "web/*/src/**/*.test.ts"],
    // They need packages of PyPI: `npm run test:python` prepares those.
    exclude: process.env.TREADLE_TEST_PYTHON ? [] : ["tests/python/**"],
    globalSetup: ["tests/support/global-setup.ts"],
    // Here a test that fails now and then fails: it is a defect. On CI it may try again, and its name is in the log.
    retry: process.env.CI ? 2 : 0,
    testTimeout: 30_000,
    hookTimeout: 120_000,
    pool: "forks",
    // No module has state that outlives what it made, so files share their process and load every module once.
    isolate: false,
    // For two cores: journeys and faults also wait for clocks, disks and one another.
    maxWorkers: 3,
    sequence: { sequencer: SlowFirst },
  },
});
