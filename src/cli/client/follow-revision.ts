import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../../platform/errors.ts";
import { waitUnlessInterrupted } from "../terminal/interruption.ts";
import type { StepView } from "../terminal/step-view.ts";
import { plainText } from "../terminal/text.ts";
import { type Deployment, logLine, type Revision, revision, timelineEvent } from "./answers.ts";
import type { ApiClient } from "./api-client.ts";
import { failureText } from "./failure-text.ts";

export const revisionSteps = ["Wait", "Build", "Start"] as const;
const stepOf: Record<string, (typeof revisionSteps)[number]> = {
  CREATING: "Wait",
  QUEUED: "Wait",
  AWAITING_BUILD: "Wait",
  BUILDING: "Build",
  AWAITING_DEPLOY: "Start",
  DEPLOYING: "Start",
};
const againMs = 1_000;
const keptLines = 20;

export type Followed = { revision: Revision; lastLines: string[] };

/** Shows the progress of a revision until it has succeeded or failed. */
export async function followRevision(
  api: ApiClient,
  options: {
    deployment: Pick<Deployment, "id" | "name">;
    revisionId: string;
    view: StepView;
    timeoutMs: number;
  },
): Promise<Followed> {
  const { deployment, revisionId, view } = options;
  const path = `/v2/deployments/${deployment.id}/revisions/${revisionId}`;
  const lastLines: string[] = [];
  let place: string | undefined;
  const goesOn = `The deployment continues. Follow it with \`treadle logs ${deployment.name} --build -f\`, and see how it ends with \`treadle revisions ${deployment.name}\`.`;

  const take = (event: string, data: string): void => {
    const value: unknown = JSON.parse(data);
    if (event === "log") {
      const line = logLine.parse(value);
      lastLines.push(line.message);
      if (lastLines.length > keptLines) lastLines.shift();
      view.log(line.message);
    } else if (event === "event") {
      const entry = timelineEvent.parse(value);
      if (entry.kind === "held") throw held(deployment, entry.message);
      const step = stepOf[entry.status ?? ""];
      if (step) view.begin(step, entry.message);
      if (step || entry.status == null) view.note(entry.message);
    } else if (event === "status") {
      const step = stepOf[revision.parse(value).status];
      if (step) view.begin(step);
    }
  };

  const work = async (signal: AbortSignal): Promise<Followed> => {
    for (;;) {
      try {
        const headers: Record<string, string> = place === undefined ? {} : { "last-event-id": place };
        for await (const { event, data, id } of api.events("GET", `${path}/events`, { headers, signal })) {
          place = id ?? place;
          take(event, data);
        }
        const current = await api.call(revision, "GET", path, { signal });
        if (stepOf[current.status] === undefined) return { revision: current, lastLines };
      } catch (error) {
        if (signal.aborted || !isPassing(error)) throw error;
        view.note("The server does not respond; trying again…");
      }
      await delay(againMs, undefined, { signal });
    }
  };
  return waitUnlessInterrupted({ timeoutMs: options.timeoutMs, goesOn }, work);
}

/** It waits until a user starts the deployment, which may take days. */
function held({ name }: Pick<Deployment, "name">, reason: string): AppError {
  return new AppError({
    code: "client.not_deployed",
    kind: "conflict",
    message: `${plainText(reason)} Start it with \`treadle deployments start ${name}\`.`,
  });
}

/** A stream that was cut off, or a server that is being restarted. */
function isPassing(error: unknown): boolean {
  if (error instanceof AppError)
    return error.code === "client.unreachable" || error.code === "client.server_failed";
  return error instanceof TypeError;
}

/** The error of a revision that does not serve; null for one that does. What the view has shown of the log is not told again. */
export function revisionFailure(
  deployment: Pick<Deployment, "name">,
  followed: Followed,
  { isLogShown }: Pick<StepView, "isLogShown">,
): AppError | null {
  const { revision: made } = followed;
  const lastLines = isLogShown ? [] : followed.lastLines;
  if (made.status === "DEPLOYED") return null;
  const log = `treadle logs ${deployment.name}${made.status === "DEPLOY_FAILED" ? "" : " --build"} --revision ${made.number}`;
  return new AppError({
    code: "client.not_deployed",
    kind: "conflict",
    message: `${failureText(made, { isLogShown }) ?? reasonOf(made, lastLines)}\nRevision ${made.number} of ${deployment.name} ended as ${made.status}. The whole log: ${log}`,
  });
}

/** What is ours, or of an older server: its sentence, and the end of the log where that is not in it. */
function reasonOf({ status_message: message }: Revision, lastLines: readonly string[]): string {
  const reason = plainText(message ?? "The server gave no reason.");
  // A reason of several lines ends with the log's last ones already.
  const untold = reason.includes("\n") ? [] : lastLines.map(plainText).filter((line) => line.trim() !== "");
  const lines = untold.map((line) => `\n  ${line}`).join("");
  return lines === "" ? reason : `${reason}\nThe last lines:${lines}`;
}
