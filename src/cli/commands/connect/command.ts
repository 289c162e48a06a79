import type { Command } from "commander";
import type { GlobalOptions } from "../../program.ts";
import { collect, timeoutOption } from "../../terminal/parse-amounts.ts";
import type { ConnectOptions, RevokeOptions } from "./options.ts";

export function register(program: Command): void {
  program
    .command("connect")
    .argument("<provider>", "id of an OAuth provider of the workspace")
    .description("connect an account, so that agents can act for it")
    .option("-s, --scope <scope>", "a scope to request; can be repeated", collect)
    .option("--agent <id>", "only for this agent")
    .option("--user <id>", "on behalf of this end user")
    .option("--another", "connect another account, even if one is connected")
    .option("--no-browser", "only print the address")
    .addOption(timeoutOption("how long to wait for the consent: 90s, 20m", "10m"))
    .addHelpText(
      "after",
      `
Prints the address where you give consent, opens it if there is a browser, and waits.

Examples:
  treadle connect github --scope repo
  treadle connections
  treadle connections revoke github`,
    )
    .action(async (provider: string, _options: object, command: Command) => {
      const { connect } = await import("./connect.ts");
      await connect(provider, command.optsWithGlobals<ConnectOptions>());
    });

  const connections = program.command("connections").description("list and revoke connected accounts");
  connections
    .command("list", { isDefault: true })
    .argument("[provider]", "only of this provider")
    .description("list your connected accounts")
    .action(async (provider: string | undefined, _options: object, command: Command) => {
      const { listConnections } = await import("./connect.ts");
      await listConnections(provider, command.optsWithGlobals<GlobalOptions>());
    });
  connections
    .command("revoke")
    .argument("<connection>", "id of a connection, or a provider for all your connections there")
    .option("--force", "delete it even if the provider does not revoke it")
    .description("revoke it at the provider, then delete it")
    .action(async (given: string, _options: object, command: Command) => {
      const { revokeConnection } = await import("./connect.ts");
      await revokeConnection(given, command.optsWithGlobals<RevokeOptions>());
    });
}
