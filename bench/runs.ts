import { randomUUID } from "node:crypto";
import type { HttpClient } from "./http-client.ts";
import { formatTable, median } from "./load.ts";

/** Question to figure. */
export type Figures = Record<string, number>;

/** One run of the graph that answers with its input, on a thread of its own. */
export async function echoRun(http: HttpClient): Promise<void> {
  await http.call("POST", `/threads/${randomUUID()}/runs/wait`, {
    assistant_id: "echo",
    if_not_exists: "create",
    input: { messages: [{ role: "user", content: "hello there" }] },
  });
}

/** A table with a column for each subject, which may have been measured several times. */
export function formatMedians(results: ReadonlyMap<string, readonly Figures[]>): string {
  const names = [...results.keys()];
  const questions = new Set([...results.values()].flat().flatMap(Object.keys));
  const cell = (name: string, question: string) => {
    const measured = results.get(name)!.flatMap((figures) => figures[question] ?? []);
    return measured.length === 0 ? "not measured" : median(measured);
  };
  return formatTable(
    [...questions].map((question) => ({
      question,
      ...Object.fromEntries(names.map((name) => [name, cell(name, question)])),
    })),
  );
}
