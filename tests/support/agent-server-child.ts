import { startTestAgentServer } from "./agent-server.ts";

/** An agent server in a process of its own, for tests that kill it: prints its URL and serves until it ends. */
const [databaseUrl, leaseMs] = process.argv.slice(2);
const server = await startTestAgentServer(databaseUrl!, { runLeaseMs: Number(leaseMs) });
console.log(`ready ${server.url}`);
process.on("SIGTERM", () => {
  void server.stop(10_000).then(() => process.exit(0));
});
