import type { Command } from "commander";
import { parseCount } from "../../terminal/parse-amounts.ts";
import type { RunsOptions, StartOptions } from "./options.ts";

export function register(program: Command): void {
  const runs = program
    .command("runs")
    .description("list the latest runs of an agent server, or start one and watch it")
    .addHelpText(
      "after",
      `
Without a deployment these are the runs of the server's built-in agents.

Examples:
  treadle runs support-bot --status error
  treadle runs start agent -d support-bot --input "What is the weather in Bern?"
  treadle runs start agent --input '{"messages": [{"role": "user", "content": "Hi"}]}' --json
  treadle runs start approval --thread 01981f5e-... --resume '{"approved": true}'
  cat question.txt | treadle runs start agent --input -`,
    );
  runs
    .command("list", { isDefault: true })
    .argument("[deployment]", "name or id; default: the built-in agents")
    .option("--status <status>", "only pending, running, success, error, timeout or interrupted ones")
    .option("--limit <count>", "at most this many, newest first", parseCount, 20)
    .description("list the latest runs")
    .action(async (given: string | undefined, _options: object, command: Command) => {
      const { listRuns } = await import("./runs.ts");
      await listRuns(given, command.optsWithGlobals<RunsOptions>());
    });
  runs
    .command("start")
    .argument("[assistant]", "graph or assistant; default: the only one there is")
    .option("-d, --deployment <name>", "use this deployment instead of the built-in agents")
    .option("-i, --input <text>", "a message, a JSON object, or - to read standard input")
    .option("-t, --thread <id>", "continue this thread")
    .option("--resume <answer>", "answer the thread's interrupt: text or JSON, or - to read standard input")
    .description("start a run and print its output; asks you when the run waits for an answer")
    .action(async (assistant: string | undefined, _options: object, command: Command) => {
      const { startRun } = await import("./start.ts");
      await startRun(assistant, command.optsWithGlobals<StartOptions>());
    });
}
