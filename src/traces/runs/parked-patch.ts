import { payloadFields, type RunChange } from "./run-change.ts";

/** A patch as JSON text, for keeping. */
export function writeParkedPatch(change: RunChange): string {
  const payloads: Record<string, string | null> = {};
  for (const field of payloadFields) {
    const content = change.payloads[field];
    if (content !== undefined) payloads[field] = content?.toString("utf8") ?? null;
  }
  return JSON.stringify({ ...change, payloads });
}

export function readParkedPatch(text: string): RunChange {
  const change = JSON.parse(text) as Omit<RunChange, "payloads"> & {
    payloads: Record<string, string | null>;
  };
  const payloads: RunChange["payloads"] = {};
  for (const field of payloadFields) {
    const content = change.payloads[field];
    if (content !== undefined) payloads[field] = content === null ? null : Buffer.from(content);
  }
  return { ...change, payloads };
}
