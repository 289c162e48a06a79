import { z } from "zod";
import type { Dataset } from "./dataset.ts";

const id = z.guid();
export const anyJson = z.unknown().optional();
export const dataset = z.object({
  id,
  tenant_id: id,
  name: z.string(),
  description: z.string().nullable(),
  data_type: z.string(),
  inputs_schema_definition: anyJson,
  outputs_schema_definition: anyJson,
  metadata: anyJson,
  example_count: z.int(),
  session_count: z.int(),
  created_at: z.string(),
  modified_at: z.string(),
});

export function toWire(found: Dataset): z.input<typeof dataset> {
  const { workspace_id, inputs_schema, outputs_schema, ...rest } = found;
  return {
    ...rest,
    tenant_id: workspace_id,
    inputs_schema_definition: inputs_schema,
    outputs_schema_definition: outputs_schema,
  };
}
