import { AppError } from "../../../platform/errors.ts";
import { announceRevision } from "../../client/announce-revision.ts";
import { type Deployment, deployment, type Revision } from "../../client/answers.ts";
import { chooseDeployment, chooseRevision, listRevisions } from "../../client/choose-deployment.ts";
import { failureText } from "../../client/failure-text.ts";
import { followRevision, revisionFailure, revisionSteps } from "../../client/follow-revision.ts";
import { openSession } from "../../client/session.ts";
import { formatAge } from "../../terminal/amounts.ts";
import { createStepView } from "../../terminal/step-view.ts";
import { type Cell, printTable, statusStyle } from "../../terminal/table.ts";
import { firstLine } from "../../terminal/text.ts";
import type { RevisionsOptions, RollbackOptions } from "./options.ts";

export async function showRevisions(given: string | undefined, options: RevisionsOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await chooseDeployment(api, given);
  const revisions = await listRevisions(api, found, options.limit);
  output.data(revisions);
  if (revisions.length === 0) {
    output.line(`${found.name} has no revision yet.`);
    return;
  }
  const now = new Date();
  printTable(
    output,
    [
      { head: "" },
      { head: "REVISION" },
      { head: "STATUS" },
      { head: "SOURCE" },
      { head: "CREATED" },
      { head: "NOTE", flexible: true },
    ],
    revisions.map((each) => [
      each.id === found.active_revision_id ? { text: "●", style: "green" } : "",
      { text: String(each.number), style: "bold" },
      statusOf(each, found),
      each.source_revision_config.repo_commit_sha?.slice(0, 8) ??
        (each.source === "internal_source" ? "upload" : each.source),
      formatAge(each.created_at, now),
      noteOf(each, revisions),
    ]),
  );
}

export async function rollBack(
  given: string | undefined,
  to: string | undefined,
  options: RollbackOptions,
): Promise<void> {
  const session = await openSession(options);
  const { api, output } = session;
  const found = await chooseDeployment(api, given);
  const target = to === undefined ? await previousOf(api, found) : await chooseRevision(api, found, to);
  const path = `/v2/deployments/${found.id}/revisions/${target.id}/redeploy`;
  const changed = await api.call(deployment, "POST", path);
  const revisionId = String(changed.latest_revision_id);
  if (!options.wait) {
    const started = await chooseRevision(api, changed, revisionId);
    output.data({ deployment: changed, revision: started });
    output.line(
      `Revision ${target.number} of ${found.name} is being deployed again, as revision ${started.number}.`,
    );
    return;
  }
  if (!options.json) output.note(`Rolling ${found.name} back to revision ${target.number}`);
  const view = createStepView(revisionSteps, options);
  try {
    const followed = await followRevision(api, {
      deployment: found,
      revisionId,
      view,
      timeoutMs: options.timeout,
    });
    const failure = revisionFailure(found, followed, view);
    view.end(failure ? "failed" : "done", "");
    view.close();
    const current = await api.call(deployment, "GET", `/v2/deployments/${found.id}`);
    output.data({ deployment: current, revision: followed.revision, url: current.url });
    if (failure) throw failure;
    announceRevision(session, current, followed.revision);
  } finally {
    view.close();
  }
}

/** The newest that served and is older than the one that serves. */
async function previousOf(api: Parameters<typeof listRevisions>[0], found: Deployment): Promise<Revision> {
  const revisions = await listRevisions(api, found);
  const active = revisions.find(({ id }) => id === found.active_revision_id);
  const previous = revisions.find(
    ({ status, number }) => status === "DEPLOYED" && (active === undefined || number < active.number),
  );
  if (previous) return previous;
  throw new AppError({
    code: "client.nothing_before",
    kind: "conflict",
    message: `${found.name} has no earlier revision that served. \`treadle revisions ${found.name}\` shows what there is.`,
  });
}

function statusOf(each: Revision, of: Deployment): Cell {
  const replaced = each.status === "DEPLOYED" && each.id !== of.active_revision_id;
  const text = replaced ? "replaced" : each.status;
  return { text, style: statusStyle(text) };
}

function noteOf(each: Revision, all: readonly Revision[]): string {
  // That it serves is in the first column already.
  const told = failureText(each) ?? each.status_message;
  if (told && each.status !== "DEPLOYED") return firstLine(told);
  if (!each.redeploy_of) return "";
  const origin = all.find(({ id }) => id === each.redeploy_of);
  return `revision ${origin?.number ?? each.redeploy_of} again`;
}
