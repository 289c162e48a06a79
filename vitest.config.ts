import { defineConfig } from "vitest/config";
import { SlowFirst } from "./tests/support/slow-first.ts";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "tests/**/*.test.ts", "web/*/src/**/*.test.ts"],
    // They need packages of PyPI: `npm run test:python` prepares those.
    exclude: [
      ...(process.env.TREADLE_TEST_PYTHON ? [] : ["tests/python/**", "tests/conformance/agents/**"]),
      // They need a cluster: `npm run test:kubernetes` makes one.
      ...(process.env.TREADLE_TEST_KUBERNETES ? [] : ["tests/kubernetes/**"]),
    ],
    globalSetup: ["tests/support/global-setup.ts"],
    // A limit ends what hangs; it says nothing about speed, which is measured in bench/. Machines have stood still for 80 s.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // A second of a quiet machine is ten of a busy one.
    expect: { poll: { timeout: 20_000 } },
    pool: "forks",
    // No module has state that outlives what it made, so files share their process and load every module once.
    isolate: false,
    // For two cores: journeys and faults wait for clocks, disks and one another half of their time.
    maxWorkers: 3,
    sequence: { sequencer: SlowFirst },
  },
});
