import { AppError } from "../../../platform/errors.ts";
import { type Deployment, deployment } from "../../client/answers.ts";
import { chooseDeployment, listRevisions } from "../../client/choose-deployment.ts";
import { openSession } from "../../client/session.ts";
import { formatAge } from "../../terminal/amounts.ts";
import { ask, canAsk } from "../../terminal/prompt.ts";
import { printFields, printTable, statusStyle } from "../../terminal/table.ts";
import { firstLine } from "../../terminal/text.ts";
import { isAtRest, placeText, stateCell } from "./deployment-words.ts";
import type { DeploymentsOptions } from "./options.ts";

export async function listDeployments(options: DeploymentsOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await api.list(deployment, "/v2/deployments");
  output.data(found);
  if (found.length === 0) {
    output.line("There are no deployments yet. `treadle deploy` creates one from the current folder.");
    return;
  }
  const now = new Date();
  printTable(
    output,
    [
      { head: "NAME" },
      { head: "STATUS" },
      { head: "SOURCE", flexible: true },
      { head: "UPDATED" },
      { head: "URL", flexible: true },
    ],
    found.map((each) => [
      { text: each.name, style: "bold" },
      stateCell(each),
      sourceOf(each),
      formatAge(each.updated_at, now),
      { text: each.url, style: "cyan" },
    ]),
  );
}

export async function showDeployment(given: string | undefined, options: DeploymentsOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await chooseDeployment(api, given);
  const revisions = await listRevisions(api, found, 20);
  const active = revisions.find(({ id }) => id === found.active_revision_id);
  const latest = revisions.find(({ id }) => id === found.latest_revision_id);
  output.data({ ...found, active_revision: active ?? null, latest_revision: latest ?? null });
  const now = new Date();
  printFields(output, [
    ["Name", { text: found.name, style: "bold" }],
    ["Address", { text: found.url, style: "cyan" }],
    ["Pages", found.page_url ? { text: found.page_url, style: "cyan" } : null],
    ["Domains", found.domain_urls.join(", ")],
    ["Status", stateCell(found)],
    ["Why", found.desired_state === "stopped" || isAtRest(found) ? found.health.message : null],
    ["Sleep", found.sleep?.allowed ? "while nobody uses it" : null],
    ["Serves", active && `revision ${active.number}, deployed ${formatAge(active.updated_at, now)}`],
    [
      "Latest",
      latest && latest.id !== active?.id
        ? { text: `revision ${latest.number}: ${latest.status}`, style: statusStyle(latest.status) }
        : null,
    ],
    ["Reason", latest && latest.id !== active?.id ? firstLine(latest.status_message ?? "") : null],
    ["Runs on", placeText(found)],
    ["Source", sourceOf(found)],
    ["Commit", found.source_revision_config.repo_commit_sha],
    ["Secrets", found.secrets.map(({ name }) => name).join(", ")],
    ["Created", formatAge(found.created_at, now)],
    ["Id", found.id],
  ]);
}

export async function deleteDeployment(given: string, options: DeploymentsOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await chooseDeployment(api, given);
  if (!options.yes) await confirm(found);
  await api.run("DELETE", `/v2/deployments/${found.id}`);
  output.data({ deleted: found.id, name: found.name });
  output.line(`${found.name} is deleted. Its database, logs and builds are purged a day later.`);
}

async function confirm(found: Deployment): Promise<void> {
  const typed = canAsk() ? await ask(`This stops ${found.url}. Type ${found.name} to delete it: `) : null;
  if (typed === found.name) return;
  throw new AppError({
    code: "client.not_confirmed",
    kind: "conflict",
    message:
      typed === null ? `Nobody can be asked here: give --yes to delete ${found.name}.` : "Not deleted.",
  });
}

function sourceOf(each: Deployment): string {
  if (each.source_revision_config.source_tarball_path) return "upload";
  if (each.source_config.repo_url) {
    const ref = each.source_revision_config.repo_ref;
    return each.source_config.repo_url + (ref ? `#${ref.slice(0, 12)}` : "");
  }
  return each.source === "internal_source" ? "upload" : each.source;
}
