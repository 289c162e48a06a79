import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../../../platform/errors.ts";
import { type BulkExport, bulkExport } from "../../client/answers.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { chooseProject } from "../../client/choose-project.ts";
import { openSession } from "../../client/session.ts";
import { formatBytes, plural } from "../../terminal/amounts.ts";
import { waitUnlessInterrupted } from "../../terminal/interruption.ts";
import { createLiveView, frameMs, progressBar, spinnerAt } from "../../terminal/live-view.ts";
import { createPaint } from "../../terminal/output.ts";
import { fitText, plainText } from "../../terminal/text.ts";
import { chooseDestination } from "./destinations.ts";
import type { CreateExportOptions } from "./options.ts";

const pollMs = 500;

export async function createExport(options: CreateExportOptions): Promise<void> {
  checkOptions(options);
  const { api, output } = await openSession(options);
  const destination = await chooseDestination(api, options.destination);
  const session = options.project === undefined ? null : await chooseProject(api, options.project);
  const now = new Date();
  const created = await api.call(bulkExport, "POST", "/api/v1/bulk-exports", {
    body: {
      bulk_export_destination_id: destination.id,
      ...(session === null ? { all_experiments: true } : { session_id: session.id }),
      start_time: (options.from ?? now).toISOString(),
      ...(options.every === undefined
        ? { end_time: (options.to ?? now).toISOString() }
        : { interval_hours: options.every }),
      ...(options.filter === undefined ? {} : { filter: options.filter }),
      ...(options.traceFilter === undefined ? {} : { trace_filter: options.traceFilter }),
      ...(options.fields === undefined ? {} : { export_fields: options.fields }),
      ...(options.compression === undefined ? {} : { compression: options.compression }),
    },
  });
  const what = session === null ? "all experiments" : session.name;
  if (options.every !== undefined || !options.wait) {
    output.data(created);
    output.line(
      options.every === undefined
        ? `Export ${created.id} of ${what} has started. See \`treadle export get ${created.id}\`.`
        : `Schedule ${created.id} exports ${what} every ${plural(options.every, "hour")}, 10 minutes after each window's end.`,
    );
    return;
  }
  const done = await waitForExport(api, created, options);
  output.data(done);
  const { rows_written, files_written, bytes_written } = done.progress;
  if (done.status !== "COMPLETED") throw notExported(done);
  output.line(
    `Export ${done.id}: ${plural(rows_written, "run")} in ${plural(files_written, "file")}, ${formatBytes(bytes_written)}, to ${destination.display_name}.`,
  );
}

function checkOptions(options: CreateExportOptions): void {
  const wrong = (message: string) =>
    new AppError({ code: "client.options_invalid", kind: "invalid", message });
  if ((options.project === undefined) === !options.allExperiments) {
    throw wrong("Give either --project or --all-experiments.");
  }
  if (options.every === undefined && options.from === undefined) {
    throw wrong("Give --from, for example --from 7d, or --every for a schedule.");
  }
  if (options.every !== undefined && options.to !== undefined)
    throw wrong("A schedule has no end: leave out --to.");
  if (options.every !== undefined && options.wait) throw wrong("A schedule never ends: leave out --wait.");
}

export async function waitForExport(
  api: ApiClient,
  created: BulkExport,
  options: CreateExportOptions,
): Promise<BulkExport> {
  const progress = showProgress(options);
  const goesOn = `The export goes on; see \`treadle export get ${created.id}\`, or end it with \`treadle export cancel ${created.id}\`.`;
  try {
    return await waitUnlessInterrupted({ timeoutMs: options.timeout, goesOn }, async (signal) => {
      for (;;) {
        const current = await api.call(bulkExport, "GET", `/api/v1/bulk-exports/${created.id}`, { signal });
        progress.update(current);
        if (isOver(current.status)) return current;
        await delay(pollMs, undefined, { signal });
      }
    });
  } finally {
    progress.close();
  }
}

export function isOver(status: string): boolean {
  return ["COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"].includes(status);
}

/** A bar on a terminal, a line for each change elsewhere, nothing with --json. */
function showProgress(options: CreateExportOptions, stream: NodeJS.WriteStream = process.stderr) {
  let current: BulkExport | undefined;
  if (options.json) return { update() {}, close() {} };
  const factsOf = ({ progress, status }: BulkExport) =>
    `${Math.round(progress.percentage)} %  ${plural(progress.rows_written, "run")}, ${plural(progress.files_written, "file")}, ${formatBytes(progress.bytes_written)}  ${status === "CREATED" ? "waiting" : status.toLowerCase()}`;
  if (stream.isTTY !== true) {
    let printed = "";
    return {
      update(next: BulkExport) {
        const facts = factsOf(next);
        if (facts !== printed) stream.write(`${facts}\n`);
        printed = facts;
      },
      close() {},
    };
  }
  const view = createLiveView(stream);
  const paint = createPaint(options, stream);
  const started = performance.now();
  const draw = () => {
    if (current === undefined) return;
    const facts = factsOf(current);
    const width = Math.max(10, Math.min(40, view.width - facts.length - 6));
    const bar = progressBar(current.progress.percentage / 100, width);
    const mark =
      current.status === "COMPLETED"
        ? paint("green", "✓")
        : isOver(current.status)
          ? paint("red", "✗")
          : paint("cyan", spinnerAt(performance.now() - started));
    view.draw([
      `${mark} ${paint("cyan", bar.done)}${paint("dim", bar.rest)}  ${fitText(facts, view.width - width - 5)}`,
    ]);
  };
  const timer = setInterval(draw, frameMs);
  return {
    update(next: BulkExport) {
      current = next;
      draw();
    },
    close() {
      clearInterval(timer);
      view.close();
    },
  };
}

function notExported(done: BulkExport): AppError {
  return new AppError({
    code: "client.not_exported",
    kind: "conflict",
    message: `Export ${done.id} ended as ${done.status}: ${plainText(done.error ?? "the server gave no reason")}`,
  });
}
