import { z } from "zod";
import { type Route, route } from "../../platform/http/route.ts";
import { reads } from "../wire/access.ts";
import type { Example } from "./dataset.ts";
import { addColumns, type ExportColumns, toCsvHeader, toCsvLine, toJsonLine } from "./dataset-export.ts";
import type { DatasetService } from "./dataset-service.ts";
import type { DatasetVersionService } from "./dataset-version-service.ts";

const pageSize = 1_000;
const formats = {
  jsonl: { type: "application/jsonl", operationId: "export_dataset_as_jsonl", as: "JSON Lines" },
  csv: { type: "text/csv", operationId: "export_dataset_as_csv", as: "a table" },
} as const;
type Pages = () => AsyncGenerator<Example[]>;

/** A dataset as a file: its newest version, unaffected by changes made while it is read. */
export function datasetExportRoutes(datasets: DatasetService, versions: DatasetVersionService): Route[] {
  const pagesOf = (workspaceId: string, datasetId: string, asOf: string): Pages =>
    async function* () {
      for (let offset = 0; ; offset += pageSize) {
        const page = { datasetId, asOf, limit: pageSize, offset };
        const examples = await datasets.listExamples(workspaceId, page);
        if (examples.length > 0) yield examples;
        if (examples.length < pageSize) return;
      }
    };
  return (["jsonl", "csv"] as const).map((format) => {
    const { type, operationId, as } = formats[format];
    return route(
      {
        method: "get",
        path: `/api/v1/datasets/{dataset_id}/${format}`,
        operationId,
        summary: `A dataset as ${as}`,
        tag: "Datasets",
        access: reads,
        params: z.object({ dataset_id: z.guid() }),
        responses: { 200: { description: "The examples in their order", contentType: type } },
        errors: [404],
      },
      async ({ caller, params }) => {
        const { workspaceId } = caller;
        const { as_of } = await versions.find(workspaceId, params.dataset_id, "latest");
        const pages = pagesOf(workspaceId, params.dataset_id, as_of);
        const lines = format === "jsonl" ? jsonLines(pages) : await csvLines(pages);
        return new Response(ReadableStream.from(encoded(lines)), { headers: { "content-type": type } });
      },
    );
  });
}

async function* jsonLines(pages: Pages): AsyncGenerator<string> {
  for await (const examples of pages()) yield examples.map(toJsonLine).join("");
}

/** Read twice: the first line names the columns of all. */
async function csvLines(pages: Pages): Promise<AsyncGenerator<string>> {
  const columns: ExportColumns = { inputs: new Set(), outputs: new Set() };
  for await (const examples of pages()) for (const each of examples) addColumns(columns, each);
  return (async function* () {
    yield toCsvHeader(columns);
    for await (const examples of pages()) yield examples.map((each) => toCsvLine(each, columns)).join("");
  })();
}

async function* encoded(lines: AsyncGenerator<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const text of lines) yield encoder.encode(text);
}
