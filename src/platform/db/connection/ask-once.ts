import pg from "pg";
import { cutConnection } from "./connection-watch.ts";
import { typeParsers } from "./type-parsers.ts";

export type AskOnceOptions = {
  url: string;
  applicationName: string;
  /** For everything: to connect, to ask, to get the answer. */
  patienceMs: number;
};

/**
 * One question to a database that belongs to a stranger, on a connection of its own. Its owner may have changed what its
 * sessions do, so no limit of the session counts: at the deadline the connection is cut on this side.
 */
export async function askOnce<Row extends object>(
  { url, applicationName, patienceMs }: AskOnceOptions,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  const client = new pg.Client({
    connectionString: url,
    application_name: applicationName,
    types: typeParsers,
  });
  const late = Promise.withResolvers<never>();
  client.on("error", (error) => late.reject(error));
  const timer = setTimeout(
    () => late.reject(new Error(`The database has not answered within ${patienceMs / 1000} s.`)),
    patienceMs,
  );
  const ask = async () => {
    await client.connect();
    // Where nothing is changed, the server does not go on for nobody.
    await client.query("select set_config('statement_timeout', $1, false)", [String(patienceMs)]);
    return client.query<Row>(text, values as unknown[]);
  };
  const answer = ask();
  // After the deadline nobody waits for it any more.
  answer.catch(() => undefined);
  try {
    return (await Promise.race([answer, late.promise])).rows;
  } finally {
    clearTimeout(timer);
    cutConnection(client);
  }
}
