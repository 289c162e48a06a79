import { z } from "zod";
import { boundaryOf, parseMultipart } from "../wire/multipart.ts";
import { refuseWhole } from "../wire/refused-part.ts";
import { readIngestBody } from "../wire/request-body.ts";
import type { ExampleChange } from "./example-store.ts";
import { outputsText, readExampleParts, type SentExample } from "./read-example.ts";

export const written = z.object({ count: z.int(), example_ids: z.array(z.guid()), as_of: z.string() });

export function readSent(request: Request): Promise<SentExample[]> {
  const boundary = boundaryOf(request.headers.get("content-type"));
  return refuseWhole(async () => readExampleParts(parseMultipart(await readIngestBody(request), boundary)));
}

export function changeOf(sent: SentExample): ExampleChange {
  const inputs = sent.inputs ?? sent.record.inputs;
  const outputs = sent.outputs ?? sent.record.outputs;
  const { metadata, split } = sent.record;
  return {
    ...(inputs !== undefined && { inputs: JSON.stringify(inputs) }),
    ...(outputs !== undefined && { outputs: outputsText(outputs) }),
    ...(metadata !== undefined && { metadata: metadata as ExampleChange["metadata"] & object }),
    ...(split != null && { split: (Array.isArray(split) ? split : [split]).map(String) }),
  };
}
