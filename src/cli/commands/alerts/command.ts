import { type Command, InvalidArgumentError, Option } from "commander";
import type { GlobalOptions } from "../../program.ts";
import { collect, parseCount, parseDuration, parseNumber } from "../../terminal/parse-amounts.ts";
import type {
  AlertHistoryOptions,
  CreateAlertOptions,
  DeleteAlertOptions,
  MuteOptions,
  SetAlertOptions,
} from "./options.ts";

const kinds = ["error_rate", "latency_p95", "no_traffic", "export_failed"];
const which = ["<alert>", "name or id"] as const;

export function register(program: Command): void {
  const alerts = program
    .command("alerts")
    .description("be notified when runs fail, take long or stay away, or an export fails")
    .addHelpText(
      "after",
      `
Examples:
  treadle alerts create agents-fail --kind error_rate --threshold 10 --min-runs 5 --email on-call@example.com
  treadle alerts create slow --kind latency_p95 --threshold 30 --window 1h --deployment support-bot \\
      --webhook - < webhook-address.txt
  treadle alerts create silent --kind no_traffic --window 6h --project bot --email on-call@example.com
  treadle alerts test agents-fail
  treadle alerts mute agents-fail --for 2h
  treadle alerts history agents-fail

An alert looks every minute at the last --window. It notifies twice: when something goes wrong (firing) and
when it is well again (resolved). The server's operator sets up mail; webhooks always work.`,
    );
  alerts
    .command("list", { isDefault: true })
    .description("list the alerts of the workspace with their state")
    .action(async (_options: object, command: Command) => {
      const { listAlerts } = await import("./alerts.ts");
      await listAlerts(command.optsWithGlobals<GlobalOptions>());
    });
  alerts
    .command("get")
    .alias("show")
    .argument(...which)
    .description("show an alert: what it waits for, what was measured last, whom it notifies")
    .action(async (given: string, _options: object, command: Command) => {
      const { showAlert } = await import("./alerts.ts");
      await showAlert(given, command.optsWithGlobals<GlobalOptions>());
    });
  registerCreate(alerts);
  registerSet(alerts);
  registerMute(alerts);
  registerRest(alerts);
}

function registerCreate(alerts: Command): void {
  const create = alerts
    .command("create")
    .argument("<name>", "what notifications call it")
    .description("make an alert; without --deployment or --project it watches the whole workspace")
    .addOption(new Option("--kind <kind>", "what it waits for").choices(kinds).makeOptionMandatory())
    .option("--deployment <name>", "watch this deployment alone")
    .option("--project <name>", "watch this tracing project alone");
  ruleOptions(create)
    .option("--email <address>", "who gets mail; may be given again", collect)
    .option("--webhook <url>", "gets a signed POST; - reads the address from stdin")
    .addHelpText(
      "after",
      `
Kinds, and what --threshold means for each:
  error_rate      percent of the runs that failed
  latency_p95     seconds that the slowest 5 % of the runs took
  no_traffic      none: it fires when no run began in the window
  export_failed   how many exports failed (default: 1)

The address of a webhook is often a credential, and arguments are seen in the list of processes: prefer
\`--webhook -\`. The secret that requests are signed with is printed once.`,
    )
    .action(async (name: string, _options: object, command: Command) => {
      const { createAlert } = await import("./change.ts");
      await createAlert(name, command.optsWithGlobals<CreateAlertOptions>());
    });
}

function registerSet(alerts: Command): void {
  const set = alerts
    .command("set")
    .argument(...which)
    .description("change an alert; what is not given stays")
    .option("--name <name>", "what notifications call it");
  ruleOptions(set)
    .option("--email <address>", "who gets mail, instead of those before; may be given again", collect)
    .option("--no-email", "nobody gets mail")
    .option("--webhook <url>", "a new address for the signed POST; - reads it from stdin")
    .option("--no-webhook", "no webhook")
    .addOption(new Option("--enable", "evaluate it again").conflicts("disable"))
    .option("--disable", "evaluate it no more, and keep it")
    .addHelpText(
      "after",
      `
Examples:
  treadle alerts set agents-fail --threshold 5 --window 1h
  treadle alerts set agents-fail --no-webhook --email on-call@example.com --email lead@example.com`,
    )
    .action(async (given: string, _options: object, command: Command) => {
      const { setAlert } = await import("./change.ts");
      await setAlert(given, command.optsWithGlobals<SetAlertOptions>());
    });
}

function ruleOptions(command: Command): Command {
  return command
    .option("--threshold <number>", "from when on it fires: percent, seconds or exports", parseNumber)
    .option("--window <time>", "how far back it looks: 1m to 24h (default: 15m)", parseWindow)
    .option("--min-runs <count>", "fewer runs in the window are too few to judge (default: 1)", parseCount);
}

function registerMute(alerts: Command): void {
  alerts
    .command("mute")
    .argument(...which)
    .addOption(
      new Option("--for <time>", "how long: 30m, 2h, 7d")
        .argParser(parseDuration)
        .default(parseDuration("1h"), "1h"),
    )
    .description("send nothing for a while; its history goes on")
    .action(async (given: string, _options: object, command: Command) => {
      const { muteAlert } = await import("./change.ts");
      const options = command.optsWithGlobals<MuteOptions>();
      await muteAlert(given, options.for, options);
    });
  alerts
    .command("unmute")
    .argument(...which)
    .description("notify people again")
    .action(async (given: string, _options: object, command: Command) => {
      const { muteAlert } = await import("./change.ts");
      await muteAlert(given, null, command.optsWithGlobals<GlobalOptions>());
    });
}

function registerRest(alerts: Command): void {
  alerts
    .command("test")
    .argument(...which)
    .description(
      "send a test to everybody it would notify, and print what became of it; ends with 15 if one failed",
    )
    .action(async (given: string, _options: object, command: Command) => {
      const { testAlert } = await import("./history.ts");
      await testAlert(given, command.optsWithGlobals<GlobalOptions>());
    });
  alerts
    .command("history")
    .argument("[alert]", "name or id; default: all alerts")
    .option("--limit <count>", "at most this many", parseCount, 20)
    .description("what alerts did and what was sent, the newest first; kept for 90 days")
    .action(async (given: string | undefined, _options: object, command: Command) => {
      const { showHistory } = await import("./history.ts");
      await showHistory(given, command.optsWithGlobals<AlertHistoryOptions>());
    });
  alerts
    .command("delete")
    .argument(...which)
    .option("-y, --yes", "do not ask")
    .description("delete an alert and its history")
    .action(async (given: string, _options: object, command: Command) => {
      const { deleteAlert } = await import("./change.ts");
      await deleteAlert(given, command.optsWithGlobals<DeleteAlertOptions>());
    });
}

function parseWindow(text: string): number {
  const minutes = parseDuration(text) / 60_000;
  if (Number.isInteger(minutes) && minutes >= 1 && minutes <= 1_440) return minutes;
  throw new InvalidArgumentError("It must be whole minutes from 1m to 24h, as in 15m or 6h.");
}
