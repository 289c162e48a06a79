import { z } from "zod";
import * as answers from "../../client/answers.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { chooseDeployment } from "../../client/choose-deployment.ts";
import { openSession } from "../../client/session.ts";
import { formatAge, formatDuration } from "../../terminal/amounts.ts";
import { printTable, statusStyle } from "../../terminal/table.ts";
import type { RunsOptions } from "./options.ts";

const threadsAtOnce = 8;

/** Where the agent server of a deployment is; the platform's own is at the root. */
export async function agentServerPath(api: ApiClient, deployment: string | undefined): Promise<string> {
  return deployment === undefined ? "" : `/d/${(await chooseDeployment(api, deployment)).slug}`;
}

export async function listRuns(deployment: string | undefined, options: RunsOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const base = await agentServerPath(api, deployment);
  const found = await latestRuns(api, base, options);
  const names = new Map(
    (await listAssistants(api, base)).map((each) => [each.assistant_id, each.name || each.graph_id]),
  );
  output.data(found);
  if (found.length === 0) {
    output.line(
      options.status ? `There are no runs with status ${options.status}.` : "There are no runs yet.",
    );
    return;
  }
  const now = new Date();
  printTable(
    output,
    [
      { head: "RUN" },
      { head: "ASSISTANT", flexible: true },
      { head: "STATUS" },
      { head: "STARTED" },
      { head: "TOOK" },
      { head: "THREAD", flexible: true },
    ],
    found.map((run) => [
      run.run_id,
      names.get(run.assistant_id) ?? run.assistant_id,
      { text: run.status, style: statusStyle(run.status) },
      formatAge(run.created_at, now),
      formatDuration(
        (isOver(run.status) ? Date.parse(run.updated_at) : now.getTime()) - Date.parse(run.created_at),
      ),
      run.thread_id,
    ]),
  );
}

function isOver(status: string): boolean {
  return status !== "pending" && status !== "running";
}

/** The API lists runs by thread, so the threads that changed last are asked. */
async function latestRuns(api: ApiClient, base: string, options: RunsOptions): Promise<answers.AgentRun[]> {
  const threads = await api.call(z.array(answers.thread), "POST", `${base}/threads/search`, {
    body: {
      limit: Math.min(options.limit, 100),
      sort_by: "updated_at",
      sort_order: "desc",
      select: ["thread_id"],
    },
  });
  const found: answers.AgentRun[] = [];
  for (let from = 0; from < threads.length; from += threadsAtOnce) {
    const pages = await Promise.all(
      threads.slice(from, from + threadsAtOnce).map(({ thread_id }) =>
        api.call(z.array(answers.run), "GET", `${base}/threads/${thread_id}/runs`, {
          query: { limit: Math.min(options.limit, 100), status: options.status },
        }),
      ),
    );
    found.push(...pages.flat());
  }
  return found.toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1)).slice(0, options.limit);
}

export function listAssistants(api: ApiClient, base: string) {
  return api.call(z.array(answers.assistant), "POST", `${base}/assistants/search`, { body: { limit: 100 } });
}
