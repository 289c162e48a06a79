import { startControlPlane } from "./control-plane.ts";

/** The control plane as a process of its own, for tests that kill it. Its settings come as one JSON argument. */
const options = JSON.parse(process.argv[2]!) as Parameters<typeof startControlPlane>[0];
const plane = await startControlPlane({ ...options, keepDatabases: true });
console.log(`ready ${plane.url}`);
process.once("SIGTERM", () => {
  plane.stop().then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
