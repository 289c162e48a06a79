import { InvalidArgumentError } from "commander";
import { deployment } from "../../client/answers.ts";
import { chooseDeployment } from "../../client/choose-deployment.ts";
import { openSession } from "../../client/session.ts";
import type { DeploymentsOptions } from "./options.ts";

export async function setPreviews(given: string, wanted: string, options: DeploymentsOptions): Promise<void> {
  if (wanted !== "on" && wanted !== "off") throw new InvalidArgumentError("It must be on or off.");
  const { api, output } = await openSession(options);
  const found = await chooseDeployment(api, given);
  const body = { enabled: wanted === "on", share_secrets: options.shareSecrets === true };
  const changed = await api.call(deployment, "PUT", `/v2/deployments/${found.id}/previews`, { body });
  output.data(changed);
  output.line(
    wanted === "on"
      ? `Each pull request of ${found.name} gets a deployment of its own, ${body.share_secrets ? "with" : "without"} its secrets.`
      : `Pull requests of ${found.name} get no previews; those there are end within ten minutes.`,
  );
}
