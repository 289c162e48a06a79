import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "tests/**/*.test.ts", "web/*/src/**/*.test.ts"],
    // They need packages of PyPI: `npm run test:python` prepares those.
    exclude: process.env.TREADLE_TEST_PYTHON ? [] : ["tests/python/**"],
    globalSetup: ["tests/support/global-setup.ts"],
    // Browsers, killed processes and full machines: on CI a test may try again, a defect fails every time.
    retry: process.env.CI ? 2 : 0,
    testTimeout: 30_000,
    hookTimeout: 120_000,
    pool: "forks",
    maxWorkers: 2,
  },
});
