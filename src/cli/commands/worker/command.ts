import type { Command } from "commander";

export function register(program: Command): void {
  program
    .command("worker", { hidden: true })
    .description("a worker process of `treadle up`, which starts it itself (TREADLE_WORKERS)")
    .action(async () => {
      const { runWorker } = await import("./run-worker.ts");
      process.exit(await runWorker());
    });
}
