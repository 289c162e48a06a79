import type { Command } from "commander";
import { InvalidArgumentError } from "commander";
import type { GlobalOptions } from "../../program.ts";
import { parseCount, parseMoment, timeoutOption } from "../../terminal/parse-amounts.ts";
import type {
  CreateDestinationOptions,
  CreateExportOptions,
  ExportFilesOptions,
  ExportOptions,
} from "./options.ts";

export function register(program: Command): void {
  const exports = program
    .command("export")
    .description("export traces as Parquet files to object storage")
    .addHelpText(
      "after",
      `
Examples:
  AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=... treadle export destinations create lake --bucket traces
  treadle export create --project default --destination lake --from 7d --wait
  treadle export create --project default --destination lake --every 24
  treadle export create --project bot --destination lake --from 2026-08-01 --to 2026-09-01 \\
      --filter 'eq(status, "error")' --fields id,name,error,start_time
  treadle export list
  treadle export files 0199f3a2-… --links`,
    );
  exports
    .command("create")
    .description("export the runs of a project, once or on a schedule")
    .option("--project <name>", "name or id of the project")
    .option("--all-experiments", "every experiment of the workspace, instead of a project")
    .requiredOption("--destination <name>", "name or id of the destination")
    .option("--from <time>", "runs that started then or later: 7d, 2026-08-01", (text) => parseMoment(text))
    .option("--to <time>", "and before then (default: now)", (text) => parseMoment(text))
    .option("--every <hours>", "create a schedule: one export every so many hours, 1 to 168", parseHours)
    .option("--filter <query>", 'only runs that match, for example eq(status, "error")')
    .option("--trace-filter <query>", "only runs of traces whose root matches")
    .option("--fields <names>", "columns, separated by commas (default: all but feedbacks)", (text) =>
      text.split(","),
    )
    .option("--compression <name>", "zstandard, snappy, gzip or none")
    .option("-w, --wait", "wait until it is done, and show its progress")
    .addOption(timeoutOption("how long to wait: 90s, 20m, 1h", "24h"))
    .action(async (_options: object, command: Command) => {
      const { createExport } = await import("./create.ts");
      await createExport(command.optsWithGlobals<CreateExportOptions>());
    });
  exports
    .command("list", { isDefault: true })
    .description("list exports and schedules, newest first")
    .option("--limit <count>", "at most this many", parseCount, 20)
    .action(async (_options: object, command: Command) => {
      const { listExports } = await import("./exports.ts");
      await listExports(command.optsWithGlobals<ExportOptions>());
    });
  exports
    .command("get")
    .argument("<id>", "id of the export")
    .description("show an export with the files of each day")
    .action(async (id: string, _options: object, command: Command) => {
      const { showExport } = await import("./exports.ts");
      await showExport(id, command.optsWithGlobals<ExportOptions>());
    });
  exports
    .command("files")
    .argument("<id>", "id of the export")
    .description("list the files of an export with their runs, sizes and addresses")
    .option("--limit <count>", "at most this many", parseCount, 100)
    .option("--links", "print a download link for each instead, valid for five minutes")
    .action(async (id: string, _options: object, command: Command) => {
      const { listFiles } = await import("./files.ts");
      await listFiles(id, command.optsWithGlobals<ExportFilesOptions>());
    });
  exports
    .command("cancel")
    .argument("<id>", "id of the export or schedule")
    .description("cancel an export or a schedule; files already written stay")
    .action(async (id: string, _options: object, command: Command) => {
      const { cancelExport } = await import("./exports.ts");
      await cancelExport(id, command.optsWithGlobals<ExportOptions>());
    });
  registerDestinations(exports);
}

function registerDestinations(exports: Command): void {
  const destinations = exports.command("destinations").description("list, create and delete destinations");
  destinations
    .command("list", { isDefault: true })
    .description("list the destinations")
    .action(async (_options: object, command: Command) => {
      const { listDestinations } = await import("./destinations.ts");
      await listDestinations(command.optsWithGlobals<GlobalOptions>());
    });
  destinations
    .command("create")
    .argument("<name>", "its name")
    .requiredOption("--bucket <name>", "the bucket")
    .option("--prefix <path>", "folder in the bucket")
    .option("--region <name>", "for AWS (default: us-east-1)")
    .option("--endpoint <url>", "for storage other than AWS")
    .option("--machine-credentials", "use the credentials of the server's machine")
    .description("create a destination; to test it, a small object is written and removed")
    .addHelpText(
      "after",
      `
The credentials come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the command
asks for them. They are never arguments.`,
    )
    .action(async (name: string, _options: object, command: Command) => {
      const { createDestination } = await import("./destinations.ts");
      await createDestination(name, command.optsWithGlobals<CreateDestinationOptions>());
    });
  destinations
    .command("delete")
    .argument("<name>", "name or id")
    .description("delete a destination that no export uses")
    .action(async (name: string, _options: object, command: Command) => {
      const { deleteDestination } = await import("./destinations.ts");
      await deleteDestination(name, command.optsWithGlobals<GlobalOptions>());
    });
}

function parseHours(text: string): number {
  const hours = Number(text);
  if (Number.isInteger(hours) && hours >= 1 && hours <= 168) return hours;
  throw new InvalidArgumentError("It must be a number of hours from 1 to 168.");
}
