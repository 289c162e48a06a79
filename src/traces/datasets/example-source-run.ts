import type { Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { readAttachment } from "../attachments/attachment-store.ts";
import type { RunPayloads } from "../storage/run-query.ts";
import type { RunReading } from "../storage/run-storage.ts";
import type { NewExampleAttachment } from "./example-attachment-store.ts";
import type { NewExample } from "./example-store.ts";

/** What the runs hold that examples are made of. */
export async function readSourceRuns(
  runs: RunReading,
  workspaceId: string,
  examples: readonly NewExample[],
): Promise<Map<string, RunPayloads>> {
  const asking = examples.filter((example) => example.fromSourceRun);
  if (asking.length === 0) return new Map();
  return runs.payloadsOf(
    workspaceId,
    asking.map((example) => example.sourceRunId!),
  );
}

/** Inputs, outputs and attachments that examples take over from the runs they were made of. */
export async function takeFromSourceRuns(
  sql: Sql,
  workspaceId: string,
  examples: readonly NewExample[],
  runs: ReadonlyMap<string, RunPayloads>,
): Promise<{ examples: NewExample[]; attachments: NewExampleAttachment[] }> {
  const asking = examples.filter((example) => example.fromSourceRun);
  if (asking.length === 0) return { examples: [...examples], attachments: [] };
  const attachments: NewExampleAttachment[] = [];
  for (const { id: exampleId, sourceRunId, fromSourceRun } of asking) {
    if (!runs.has(sourceRunId!)) throw noSourceRun(sourceRunId!);
    for (const name of fromSourceRun!.attachments) {
      const found = await readAttachment(sql, workspaceId, sourceRunId!, name);
      if (!found) throw noSourceRun(sourceRunId!, name);
      attachments.push({ exampleId, name, mimeType: found.mime_type, content: found.content });
    }
  }
  const whole = examples.map((example) => {
    const run = example.fromSourceRun?.io ? runs.get(example.sourceRunId!) : undefined;
    return run ? { ...example, inputs: run.inputs ?? "{}", outputs: run.outputs } : example;
  });
  return { examples: whole, attachments };
}

function noSourceRun(runId: string, attachment?: string): AppError {
  const missing =
    attachment === undefined ? `source_run_id: run ${runId}` : `Run ${runId}'s attachment "${attachment}"`;
  return new AppError({
    code: "traces.source_run_not_found",
    kind: "not_found",
    message: `${missing} was not found in this workspace; no example was added. Send it first, or send inputs and outputs with the example.`,
  });
}
