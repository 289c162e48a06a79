import { Resolver } from "node:dns/promises";

/** TXT records of a name: none where there are none. Throws `DnsFailed` when no server answered. */
export type TxtRecords = (name: string) => Promise<string[]>;

export class DnsFailed extends Error {}

/** Of this kind, or of this name, there is nothing: an answer like others. */
const nothing = new Set(["ENODATA", "ENOTFOUND"]);
const timeoutMs = 2_000;
const tries = 2;

/** Asks DNS servers, those of the system unless others are named as `address` or `address:port`. */
export function dnsTxtRecords(servers: readonly string[] = []): TxtRecords {
  return async (name) => {
    // One for each question: it holds sockets only while it waits.
    const resolver = new Resolver({ timeout: timeoutMs, tries });
    if (servers.length > 0) resolver.setServers(servers);
    try {
      return (await resolver.resolveTxt(name)).map((parts) => parts.join(""));
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (nothing.has(code)) return [];
      throw new DnsFailed(`The DNS servers gave no answer for ${name} (${code}).`, { cause: error });
    }
  };
}
