import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { askUsage } from "./usage-report.ts";

async function answered(answer: object) {
  const server = createServer((_request, response) => response.end(JSON.stringify(answer)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return askUsage(
    { host: "127.0.0.1", port, secret: null },
    { withRuns: true },
    new AbortController().signal,
  );
}

const usual = { cpu_seconds: 12.5, memory_bytes: 80_000_000, pending_runs: 3, running_runs: 1 };

it("is what the server says, where that can be", async () => {
  const said = { cpuSeconds: 12.5, memoryBytes: 80_000_000, pendingRuns: 3, runningRuns: 1 };
  expect(await answered(usual)).toEqual(said);
  const withoutRuns = { cpu_seconds: 12.5, memory_bytes: 2 ** 50, pending_runs: null };
  expect(await answered(withoutRuns)).toEqual({
    ...said,
    ...{ memoryBytes: 2 ** 50, pendingRuns: null, runningRuns: null },
  });
});

it.each([
  { memory_bytes: 1e19 },
  { memory_bytes: -1 },
  { cpu_seconds: 1e13 },
  { pending_runs: 1_000_001 },
  { running_runs: 0.5 },
])("is nothing where the server says %o", async (wrong) => {
  expect(await answered({ ...usual, ...wrong })).toBeNull();
});
