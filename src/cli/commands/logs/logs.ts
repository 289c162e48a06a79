import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../../../platform/errors.ts";
import { type Deployment, type LogLine, logPage, type Revision } from "../../client/answers.ts";
import type { ApiClient, Query } from "../../client/api-client.ts";
import { chooseDeployment, chooseRevision } from "../../client/choose-deployment.ts";
import { failureText } from "../../client/failure-text.ts";
import { openSession } from "../../client/session.ts";
import { suggestion } from "../../terminal/near-names.ts";
import type { Output } from "../../terminal/output.ts";
import { plainText } from "../../terminal/text.ts";
import type { LogsOptions } from "./options.ts";

const levels = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];
const pollMs = 1_000;
const pageSize = 500;

export async function showLogs(given: string | undefined, options: LogsOptions): Promise<void> {
  const least = levelOf(options.level);
  const { api, output } = await openSession(options);
  const deployment = await chooseDeployment(api, given);
  const { path, query, failed } = await placeOf(api, deployment, options);
  // What one looks for in the log of a revision that failed, before all the rest.
  if (failed !== null && !output.json && options.search === undefined) output.note(`${failed}\n`);
  const wanted = (line: LogLine) => rankOf(line.level) >= least;
  let isCut = false;
  const read = async (more: Query) => {
    const page = await api.call(logPage, "GET", path, { query: { ...query, limit: pageSize, ...more } });
    if (page.incomplete != null && !isCut) {
      isCut = true;
      output.note("Older lines are in the platform's storage, which cannot be reached at the moment.");
    }
    return page.logs;
  };

  let last = "0";
  const show = (lines: readonly LogLine[]) => {
    for (const line of lines) {
      if (wanted(line)) printLine(output, line);
      last = line.id;
    }
  };
  if (options.since) {
    await readOn(read, { start_time: options.since.toISOString() }, show);
  } else {
    const lines = await readBack(read, wanted, options.lines);
    last = (await read({ order: "desc", limit: 1 })).at(0)?.id ?? "0";
    for (const line of lines) printLine(output, line);
    if (lines.length === 0 && !options.follow && !output.json) output.note("No lines.");
  }
  while (options.follow) {
    await delay(pollMs);
    await readOn(read, { offset: last }, show).catch((error: unknown) => {
      // A server that is being restarted is back in a moment; what was written meanwhile is read then.
      if (error instanceof AppError && error.code === "client.unreachable") return;
      throw error;
    });
  }
}

type Read = (more: Query) => Promise<LogLine[]>;

/** Page after page, oldest first, to the end. */
async function readOn(read: Read, from: Query, show: (lines: LogLine[]) => void): Promise<void> {
  let query = from;
  for (;;) {
    const lines = await read({ ...query, order: "asc" });
    show(lines);
    const end = lines.at(-1);
    if (lines.length < pageSize || end === undefined) return;
    query = { ...from, offset: end.id };
  }
}

/** The last lines that are wanted, oldest first. */
async function readBack(read: Read, wanted: (line: LogLine) => boolean, count: number): Promise<LogLine[]> {
  const found: LogLine[] = [];
  let offset: string | undefined;
  while (found.length < count) {
    const lines = await read({ order: "desc", ...(offset === undefined ? {} : { offset }) });
    found.push(...lines.filter(wanted));
    offset = lines.at(-1)?.id;
    if (lines.length < pageSize) break;
  }
  return found.slice(0, count).reverse();
}

async function placeOf(api: ApiClient, deployment: Deployment, options: LogsOptions) {
  const query: Query = options.search === undefined ? {} : { query: options.search };
  const base = `/v2/deployments/${deployment.id}`;
  if (options.revision === undefined && !options.build) return { path: `${base}/logs`, query, failed: null };
  const wanted = options.revision ?? deployment.latest_revision_id;
  if (wanted == null) {
    throw new AppError({
      code: "client.revision_unknown",
      kind: "not_found",
      message: `${deployment.name} has no revision yet, so nothing was built.`,
    });
  }
  const revision = await chooseRevision(api, deployment, wanted);
  return {
    path: `${base}/revisions/${revision.id}/logs`,
    failed: failureText(revision, { isLogShown: holdsFailure(revision, options) }),
    query: { ...query, type: options.build ? "build" : "deploy" },
  };
}

/** Whether what the tool printed is in the log that follows, which is of the build or of the server, and shown whole. */
function holdsFailure({ status, failure }: Revision, options: LogsOptions): boolean {
  const isWhole = options.level === undefined && options.since === undefined;
  const isThere = (status === "BUILD_FAILED") === (options.build === true);
  return isWhole && isThere && options.lines > (failure?.output.length ?? 0);
}

function levelOf(given: string | undefined): number {
  if (given === undefined) return -1;
  const name = given.toUpperCase() === "WARN" ? "WARNING" : given.toUpperCase();
  const rank = levels.indexOf(name);
  if (rank >= 0) return rank;
  throw new AppError({
    code: "client.level_unknown",
    kind: "invalid",
    message: `There is no level ${given}.${suggestion(name, levels)} There are: ${levels.join(", ").toLowerCase()}.`,
  });
}

/** An unknown level is shown rather than hidden. */
function rankOf(level: string): number {
  const rank = levels.indexOf(level.toUpperCase());
  return rank < 0 ? levels.length : rank;
}

function printLine(output: Output, line: LogLine): void {
  output.data(line);
  const rank = rankOf(line.level);
  const level = line.level.toLowerCase().padEnd(7);
  const shown =
    rank >= 3
      ? output.paint("red", level)
      : rank === 2
        ? output.paint("yellow", level)
        : output.paint("dim", level);
  output.line(
    `${output.paint("dim", formatTime(line.timestamp))} ${shown} ${plainText(line.message).trimEnd()}`,
  );
}

function formatTime(timestamp: string): string {
  return timestamp.slice(0, 19).replace("T", " ");
}
