import type { Alert } from "../../client/answers.ts";
import { deployment, project } from "../../client/answers.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { chooseAlert, listAlerts as listAll } from "../../client/choose-alert.ts";
import { openSession } from "../../client/session.ts";
import type { GlobalOptions } from "../../program.ts";
import { formatAge } from "../../terminal/amounts.ts";
import { printFields, printTable } from "../../terminal/table.ts";
import {
  conditionText,
  isMuted,
  receiversCell,
  stateCell,
  undeliveredText,
  valueText,
} from "./alert-words.ts";

export async function listAlerts(options: GlobalOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await listAll(api);
  output.data(found);
  if (found.length === 0) {
    output.line("There are no alerts yet. `treadle alerts create --help` says how to make one.");
    return;
  }
  const now = new Date();
  printTable(
    output,
    [
      { head: "NAME", flexible: true },
      { head: "STATE" },
      { head: "KIND" },
      { head: "FIRES AT" },
      { head: "MEASURED" },
      { head: "SINCE" },
      { head: "NOTIFIES", flexible: true },
    ],
    found.map((each) => [
      { text: each.name, style: "bold" },
      stateCell(each, now),
      each.kind,
      conditionText(each),
      valueText(each),
      formatAge(each.state_since, now),
      receiversCell(each, now),
    ]),
  );
}

export async function showAlert(given: string, options: GlobalOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await chooseAlert(api, given);
  output.data(found);
  const now = new Date();
  printFields(output, [
    ["Name", { text: found.name, style: "bold" }],
    ["State", stateCell(found, now)],
    ["Since", formatAge(found.state_since, now)],
    ["Problem", found.problem],
    ["Kind", found.kind],
    ["Fires at", conditionText(found)],
    ["From", found.min_runs > 1 ? `${found.min_runs} runs in the window` : null],
    ["Measured", valueText(found)],
    ["Watches", options.json ? null : await subjectOf(api, found)],
    ["Webhook", found.webhook_host],
    ["E-mail", found.emails.join(", ")],
    ...found.undelivered.map(
      (each) => ["Undelivered", { text: undeliveredText(each, now), style: "red" }] as const,
    ),
    ["Muted", isMuted(found, now) ? `until ${found.muted_until}` : null],
    ["Evaluated", found.evaluated_at ? formatAge(found.evaluated_at, now) : "not yet"],
    ["Id", found.id],
  ]);
}

/** What it watches may be deleted since: then its id is all there is. */
async function subjectOf(api: ApiClient, { scope, scope_id: id }: Alert): Promise<string> {
  if (scope === "workspace" || id == null) return "the whole workspace";
  const found =
    scope === "deployment"
      ? await api.list(deployment, "/v2/deployments", {}, 1_000)
      : await api.call(project.array(), "GET", "/api/v1/sessions", { query: { id, limit: 1 } });
  return `${scope} ${found.find((each) => each.id === id)?.name ?? `${id}, which is gone`}`;
}
