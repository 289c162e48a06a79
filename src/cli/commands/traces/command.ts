import type { Command } from "commander";
import type { GlobalOptions } from "../../program.ts";

export function register(program: Command): void {
  const traces = program
    .command("traces")
    .description("where runs of traces are kept: move them to ClickHouse, or change it");
  traces
    .command("migrate")
    .description("move the runs that are in PostgreSQL to the ClickHouse of TREADLE_TRACES_URL")
    .addHelpText(
      "after",
      `
In this order:
  1. Back up the database. Runs leave PostgreSQL; there is no command for the way back.
  2. Start all servers with TREADLE_TRACES_URL. From then on new runs go to ClickHouse, and only what is
     there is shown. Changes of runs that are still in PostgreSQL are kept, and become part of them later.
  3. treadle traces migrate     with the same settings, on any machine that reaches both databases.

It works while the servers do. Of each project the newest traces come first, each with its feedback;
attachments stay where they are. Each step writes some runs to ClickHouse, then deletes them in PostgreSQL,
so what is left there is what is still to be moved: after Ctrl-C, a crash or an outage run it again, and it
continues. One at a time may run. A run that ClickHouse cannot hold (times before 1900 or after 2299) stays
in PostgreSQL and is listed at the end.

Examples:
  TREADLE_TRACES_URL=https://treadle:…@clickhouse:8443/treadle treadle traces migrate
  DATABASE_URL=postgres://… TREADLE_TRACES_URL=https://… treadle traces migrate --json`,
    )
    .action(async (_options: object, command: Command) => {
      const { migrateTraces } = await import("./migrate-traces.ts");
      await migrateTraces(command.optsWithGlobals<GlobalOptions>());
    });
  traces
    .command("use")
    .description("keep runs where TREADLE_TRACES_URL says, or in PostgreSQL without it, from now on")
    .addHelpText(
      "after",
      `
The database notes where its servers keep runs, and a server with another setting does not start. From
PostgreSQL to ClickHouse the note changes by itself. This changes it in all other cases:
  - the same ClickHouse database has another address
  - runs are to be kept in another ClickHouse database, or in PostgreSQL again

Stop all servers before, and start them with the same settings after. No run is moved: those that are
elsewhere stay there and are not shown.

Examples:
  TREADLE_TRACES_URL=https://treadle:…@other-name:8443/treadle treadle traces use
  DATABASE_URL=postgres://… treadle traces use     back to PostgreSQL`,
    )
    .action(async (_options: object, command: Command) => {
      const { useEngine } = await import("./use-engine.ts");
      await useEngine(command.optsWithGlobals<GlobalOptions>());
    });
}
