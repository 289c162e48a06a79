import type { LookupFunction } from "node:net";
import { Agent, fetch as undiciFetch } from "undici";

/** Every name is this machine, as after a line for it in the hosts file. */
export const lookupHere: LookupFunction = (_name, { all }, callback) =>
  all ? callback(null, [{ address: "127.0.0.1", family: 4 }]) : callback(null, "127.0.0.1", 4);

/** `fetch` for which every name is this machine. `ca`: the only authority it trusts. */
export function createMappedFetch(ca?: string): { fetch: typeof fetch; close(): Promise<void> } {
  const dispatcher = new Agent({ connect: { lookup: lookupHere, ...(ca !== undefined && { ca }) } });
  return {
    fetch: ((input: string | URL, init?: RequestInit) =>
      undiciFetch(input, { ...(init as object), dispatcher })) as unknown as typeof fetch,
    close: () => dispatcher.close(),
  };
}
