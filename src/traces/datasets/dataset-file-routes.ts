import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { newId } from "../../platform/ids.ts";
import { reads, writes } from "../wire/access.ts";
import { boundaryOf, type Part, parseMultipart } from "../wire/multipart.ts";
import { readIngestBody } from "../wire/request-body.ts";
import { parseCsv } from "./csv.ts";
import { isOwnTable, unquoteFormula } from "./csv-formula.ts";
import type { DatasetService } from "./dataset-service.ts";
import { dataset, toWire } from "./dataset-view.ts";
import { toConversation } from "./fine-tuning.ts";
import { toNewExample } from "./read-example.ts";

const tag = "Datasets";
const maxFileBytes = 20 * 1024 * 1024;
const maxRows = 50_000;
const pageSize = 1_000;

const form = z.object({
  id: z.guid().optional(),
  name: z.string().min(1).max(500).optional(),
  description: z.string().max(10_000).optional(),
  data_type: z.enum(["kv", "llm", "chat"]).optional(),
});

/** Datasets from files and as files. */
export function datasetFileRoutes(service: DatasetService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/api/v1/datasets/upload",
        operationId: "upload_dataset",
        summary: "Create a dataset from a CSV file",
        description:
          "Parts: `file`, `input_keys` and `output_keys` (columns, each as often as needed), `name`, `description`, `data_type`. The first row names the columns; columns that are in no key are left out.",
        tag,
        access: writes,
        rawBody: true,
        maxBodyBytes: maxFileBytes,
        responses: { 200: { description: "The dataset", schema: dataset } },
        errors: [409, 413],
      },
      async ({ request, caller }) => {
        const boundary = boundaryOf(request.headers.get("content-type"));
        const sent = readForm(parseMultipart(await readIngestBody(request), boundary));
        const made = await service.createWith(
          {
            ...(sent.id && { id: sent.id }),
            workspaceId: caller.workspaceId,
            name: sent.name,
            description: sent.description ?? null,
            dataType: sent.data_type ?? "kv",
            inputsSchema: null,
            outputsSchema: null,
            metadata: null,
          },
          sent.examples.map((record) => toNewExample({ id: newId(), record })),
        );
        return json(200, toWire(made));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/datasets/{dataset_id}/openai_ft",
        operationId: "export_dataset_for_fine_tuning",
        summary: "A dataset as conversations for fine-tuning, one per line",
        tag,
        access: reads,
        params: z.object({ dataset_id: z.guid() }),
        responses: { 200: { description: "JSON Lines", contentType: "application/jsonl" } },
        errors: [404],
      },
      async ({ caller, params }) => {
        const { workspaceId } = caller;
        await service.get(workspaceId, params.dataset_id);
        const lines: string[] = [];
        for (let offset = 0; ; offset += pageSize) {
          const filter = { datasetId: params.dataset_id, limit: pageSize, offset };
          const examples = await service.listExamples(workspaceId, filter);
          for (const example of examples) {
            const conversation = toConversation(example);
            if (!conversation)
              throw invalidField(
                ["path", "dataset_id"],
                `Example ${example.id} is not a conversation: it has neither messages nor one text on each side`,
              );
            lines.push(JSON.stringify(conversation));
          }
          if (examples.length < pageSize) break;
        }
        return new Response(`${lines.join("\n")}\n`, { headers: { "content-type": "application/jsonl" } });
      },
    ),
  ];
}

function readForm(parts: readonly Part[]) {
  const texts = (name: string) =>
    parts.filter((part) => part.name === name).map((part) => part.bytes.toString("utf8"));
  const fields = Object.fromEntries(
    Object.keys(form.shape).map((name) => [name, texts(name)[0] || undefined]),
  );
  const read = form.safeParse(fields);
  if (!read.success)
    throw invalidField(["body", ...(read.error.issues[0]!.path as string[])], read.error.issues[0]!.message);
  const file = parts.find((part) => part.name === "file");
  if (!file) throw invalidField(["body", "file"], "The part file is missing: the CSV file");
  const name = read.data.name ?? file.filename?.split(/[\\/]/).at(-1) ?? "";
  if (name === "") throw invalidField(["body", "name"], "A name is needed");
  return { ...read.data, name, examples: readRows(file, texts("input_keys"), texts("output_keys")) };
}

function readRows(file: Part, inputKeys: string[], outputKeys: string[]) {
  const [header, ...rows] = parseCsv(file.bytes.toString("utf8")) ?? [];
  if (!header) throw invalidField(["body", "file"], "This is not a CSV file with a header row");
  if (inputKeys.length === 0) throw invalidField(["body", "input_keys"], "At least one column is needed");
  const missing = [...inputKeys, ...outputKeys].find((key) => !header.includes(key));
  if (missing !== undefined)
    throw invalidField(["body", "input_keys"], `The file has no column "${missing.slice(0, 100)}"`);
  if (rows.length > maxRows) throw invalidField(["body", "file"], `A file may have at most ${maxRows} rows`);
  const read = isOwnTable(header) ? unquoteFormula : (cell: string) => cell;
  const pick = (row: string[], keys: string[]) =>
    Object.fromEntries(keys.map((key) => [key, read(row[header.indexOf(key)] ?? "")]));
  return rows.map((row) => ({
    inputs: pick(row, inputKeys),
    outputs: outputKeys.length === 0 ? null : pick(row, outputKeys),
  }));
}
