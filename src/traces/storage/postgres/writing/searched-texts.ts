import type { MergedRun } from "../../../runs/stored-run.ts";

/** The texts a search looks through, as far as this write holds them. */
export function searchedTexts({ name, error, payloads }: MergedRun): (Buffer | null)[] {
  return [
    Buffer.from(name),
    error === null ? null : Buffer.from(error),
    payloads.inputs ?? null,
    payloads.outputs ?? null,
  ];
}
