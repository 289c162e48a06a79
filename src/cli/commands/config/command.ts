import type { Command } from "commander";
import type { GlobalOptions } from "../../program.ts";

export function register(program: Command): void {
  program
    .command("config")
    .description("list every setting with its value; secrets are masked")
    .addHelpText(
      "after",
      "\nEach setting is an environment variable. If one is invalid, the command names it and exits with 3.",
    )
    .action(async (_options: object, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const { describeConfig, environmentWith, readConfig } = await import("../../../config/index.ts");
      const { createOutput, formatTable } = await import("../../terminal/output.ts");
      const output = createOutput(options);
      const environment = environmentWith({ TREADLE_DATA_DIR: options.dataDir });
      const settings = describeConfig(environment);
      output.data(settings);
      const rows = settings.map(({ name, value, source }) => [name, value === "" ? "-" : value, source]);
      const [head, ...lines] = formatTable([["SETTING", "VALUE", "FROM"], ...rows]);
      output.line(output.paint("bold", head ?? ""));
      lines.forEach((line, index) => {
        output.line(settings[index]?.source === "default" ? output.paint("dim", line) : line);
      });
      // After the table: a person who has a bad value needs to see it among the others.
      readConfig(environment);
    });
}
