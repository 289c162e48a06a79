import { z } from "zod";
import { AppError } from "../../../platform/errors.ts";
import { type DeploymentDomain, deploymentDomain } from "../../client/answers.ts";
import { chooseDeployment } from "../../client/choose-deployment.ts";
import { openSession } from "../../client/session.ts";
import { type Cell, printFields, printTable } from "../../terminal/table.ts";
import type { DeploymentsOptions } from "./options.ts";

type Session = Awaited<ReturnType<typeof openSession>>;

export async function listDomains(given: string | undefined, options: DeploymentsOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await chooseDeployment(api, given);
  const page = z.looseObject({ resources: z.array(deploymentDomain) });
  const { resources } = await api.call(page, "GET", pathOf(found.id));
  output.data(resources);
  if (resources.length === 0) {
    output.line(`${found.name} has no domains. \`treadle deployments domains add\` adds one.`);
    return;
  }
  printTable(
    output,
    [{ head: "DOMAIN" }, { head: "STATE" }, { head: "TXT RECORD" }, { head: "VALUE", flexible: true }],
    resources.map((each) => [
      { text: each.domain, style: "bold" },
      stateOf(each),
      each.record.name,
      each.record.value,
    ]),
  );
}

export async function addDomain(given: string, domain: string, options: DeploymentsOptions): Promise<void> {
  const session = await openSession(options);
  const { id } = await chooseDeployment(session.api, given);
  show(session, await session.api.call(deploymentDomain, "POST", pathOf(id), { body: { domain } }));
}

/** Ends with 1 while it is not verified, for scripts that wait for DNS. */
export async function verifyDomain(
  given: string,
  domain: string,
  options: DeploymentsOptions,
): Promise<void> {
  const session = await openSession(options);
  const { id } = await chooseDeployment(session.api, given);
  const path = `${pathOf(id)}/${encodeURIComponent(domain)}/verify`;
  const checked = await session.api.call(deploymentDomain, "POST", path);
  if (checked.state !== "verified") {
    throw new AppError({
      code: "client.domain_pending",
      kind: "conflict",
      message: checked.problem?.message ?? `${checked.domain} is not verified.`,
    });
  }
  show(session, checked);
}

export async function removeDomain(
  given: string,
  domain: string,
  options: DeploymentsOptions,
): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await chooseDeployment(api, given);
  await api.run("DELETE", `${pathOf(found.id)}/${encodeURIComponent(domain)}`);
  output.data({ removed: domain, deployment: found.name });
  output.line(`${found.name} is not served at ${domain} any more.`);
}

function show({ output }: Session, domain: DeploymentDomain): void {
  output.data(domain);
  if (domain.state === "verified") {
    output.line(`${domain.domain} is verified: the deployment is served at ${domain.url}.`);
    if (domain.problem) output.line(domain.problem.message);
    return;
  }
  output.line(`Add this record at your DNS provider, then: treadle deployments domains verify`);
  printFields(output, [
    ["Type", domain.record.type],
    ["Name", { text: domain.record.name, style: "bold" }],
    ["Value", { text: domain.record.value, style: "bold" }],
    ["State", stateOf(domain)],
    ["Why", domain.problem?.message],
  ]);
}

function stateOf({ state }: DeploymentDomain): Cell {
  return { text: state, style: state === "verified" ? "green" : "yellow" };
}

function pathOf(deploymentId: string): string {
  return `/v2/deployments/${deploymentId}/domains`;
}
