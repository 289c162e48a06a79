import { z } from "zod";
import { exportFile, exportFileLink } from "../../client/answers.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { openSession } from "../../client/session.ts";
import { formatBytes, formatCount } from "../../terminal/amounts.ts";
import { printTable } from "../../terminal/table.ts";
import { checkedId } from "./exports.ts";
import type { ExportFilesOptions } from "./options.ts";

type File = z.output<typeof exportFile>;

const page = z.looseObject({ files: z.array(exportFile), next_cursor: z.string().nullable() });
const pageSize = 1000;

export async function listFiles(id: string, options: ExportFilesOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const path = `/api/v1/bulk-exports/${checkedId(id)}`;
  const { files, more } = await readFiles(api, path, options.limit);
  if (options.links) {
    const linked = [];
    for (const file of files) linked.push({ ...file, ...(await createLink(api, path, file)) });
    output.data(linked);
    for (const { url } of linked) output.line(url);
  } else {
    output.data(files);
    printFiles(output, files);
  }
  if (files.length === 0) output.line(`Export ${id} has written no files.`);
  if (more) output.note("There are more files. Give a higher --limit to see them.");
}

async function readFiles(api: ApiClient, path: string, limit: number) {
  const files: File[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: Math.min(limit - files.length, pageSize), cursor };
    const answer = await api.call(page, "GET", `${path}/files`, { query });
    files.push(...answer.files);
    cursor = answer.next_cursor ?? undefined;
  } while (cursor !== undefined && files.length < limit);
  return { files, more: cursor !== undefined };
}

function createLink(api: ApiClient, path: string, { run_id, part }: File) {
  return api.call(exportFileLink, "POST", `${path}/runs/${run_id}/link`, { body: { part } });
}

function printFiles(output: Parameters<typeof printTable>[0], files: readonly File[]): void {
  if (files.length === 0) return;
  printTable(
    output,
    [{ head: "DAY" }, { head: "RUNS" }, { head: "SIZE" }, { head: "FILE" }],
    files.map((file) => [
      file.start_time.slice(0, 10),
      formatCount(file.rows),
      formatBytes(file.bytes),
      file.uri,
    ]),
  );
}
