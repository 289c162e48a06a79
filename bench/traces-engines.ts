/**
 * Which shape runs should have in ClickHouse: `npm run bench -- traces-engines [merging|points|words|metadata] [runs]`. Every variant is
 * measured twice, the second time in the opposite order, since machines change their speed. Figures and choices: bench/traces-engines.md.
 */
import { fileURLToPath } from "node:url";
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { startClickHouse } from "../tests/support/components/clickhouse.ts";
import { newName, projectIds, workspaceId } from "./traces-engines-data.ts";
import { measureIndexes, metadataVariants, pointVariants, wordVariants } from "./traces-engines-indexes.ts";
import { measureMerging, variants } from "./traces-engines-merging.ts";

const repeats = 9;

export class Bench {
  readonly #client: ClickHouseClient;
  constructor(client: ClickHouseClient) {
    this.#client = client;
  }

  async run(query: string): Promise<void> {
    await this.#client.command({ query });
  }

  async rows<Row>(query: string, params: Record<string, unknown> = {}): Promise<Row[]> {
    const answer = await this.#client.query({ query, query_params: params, format: "JSONEachRow" });
    return await answer.json<Row>();
  }

  /** How many rows the server looked at: the one figure that no other work on the machine changes. */
  async rowsRead(query: string, params: Record<string, unknown>): Promise<number> {
    const settings = { wait_end_of_query: 1 } as const;
    const answer = await this.#client.query({ query, query_params: params, clickhouse_settings: settings });
    await answer.text();
    const { read_rows } = JSON.parse(String(answer.response_headers["x-clickhouse-summary"])) as {
      read_rows: string;
    };
    return Number(read_rows);
  }

  async insert(table: string, values: object[]): Promise<void> {
    await this.#client.insert({ table, values, format: "JSONEachRow" });
  }

  async createTable(definition: string): Promise<string> {
    const table = newName("runs");
    await this.run(`create table ${table} ${definition}`);
    return table;
  }

  async bytesOf(table: string): Promise<number> {
    const [row] = await this.rows<{ bytes: number }>(
      "select sum(bytes_on_disk) as bytes from system.parts where active and database = currentDatabase() and table = {table: String}",
      { table },
    );
    return Number(row?.bytes ?? 0);
  }

  async median(query: string, params: Record<string, unknown>): Promise<number> {
    const times: number[] = [];
    for (let n = 0; n < repeats; n += 1) {
      const begun = performance.now();
      await this.rows(query, params);
      times.push(performance.now() - begun);
    }
    return times.toSorted((a, b) => a - b)[Math.floor(repeats / 2)]!;
  }

  async readTimes(table: string, final: string): Promise<{ page: number; hours: number }> {
    const scope = "workspace_id = {w: UUID} and project_id = {p: UUID}";
    const params = { w: workspaceId, p: projectIds[4] };
    const page = await this.median(
      `select * from ${table} ${final} where ${scope} and (start_time, id) in (select start_time, id from ${table} ${final}
        where ${scope} order by start_time desc, id desc limit 50) order by start_time desc, id desc`,
      params,
    );
    const hours = await this.median(
      `select toStartOfHour(start_time) as hour, count(), countIf(status = 'error'), sum(total_tokens), sum(total_cost),
        quantilesExactInclusive(0.5, 0.99)(dateDiff('us', start_time, end_time)) from ${table} ${final}
        where ${scope} and start_time >= '2026-10-08' and start_time < '2026-10-15' group by hour order by hour`,
      params,
    );
    return { page, hours };
  }
}

type Subject = { name: string; measure: () => Promise<Record<string, number>> };

function subjects(bench: Bench, section: string, count: number): Subject[] {
  if (section === "merging")
    return variants.map((each) => ({ name: each.name, measure: () => measureMerging(bench, each, count) }));
  const found = { points: pointVariants, words: wordVariants, metadata: metadataVariants }[section];
  if (!found) throw new Error(`There is no section "${section}".`);
  return found.map((each) => ({ name: each.name, measure: () => measureIndexes(bench, each, count) }));
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toFixed(1);
}

async function measure(bench: Bench, section: string, count: number): Promise<void> {
  const all = subjects(bench, section, count);
  const figures = new Map(all.map(({ name }) => [name, [] as Record<string, number>[]]));
  for (const subject of [...all, ...all.toReversed()]) {
    const begun = performance.now();
    figures.get(subject.name)!.push(await subject.measure());
    console.error(`${section}: ${subject.name}, ${Math.round((performance.now() - begun) / 1_000)} s`);
  }
  const questions = Object.keys(figures.get(all[0]!.name)![0]!);
  console.log(`\n### ${section}: ${count.toLocaleString("en-US")} runs, first / second time\n`);
  console.log(`| | ${all.map(({ name }) => name).join(" | ")} |\n|---|${all.map(() => "---").join("|")}|`);
  for (const question of questions) {
    const cells = all.map(({ name }) =>
      figures
        .get(name)!
        .map((each) => (each[question] === undefined ? "–" : shown(each[question])))
        .join(" / "),
    );
    console.log(`| ${question} | ${cells.join(" | ")} |`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [section, count = "200000"] = process.argv.slice(2);
  const sections = section ? [section] : ["merging", "points", "words", "metadata"];
  const clickHouse = await startClickHouse();
  const client = createClient({
    url: await clickHouse.createDatabase(),
    request_timeout: 300_000,
    log: { level: ClickHouseLogLevel.ERROR },
  });
  try {
    for (const each of sections) await measure(new Bench(client), each, Number(count));
  } finally {
    await client.close();
    await clickHouse.stop();
  }
}
