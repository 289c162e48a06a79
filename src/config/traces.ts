import { resolve } from "node:path";
import { z } from "zod";
import { flag, text } from "./fields.ts";
import { invalidSettings } from "./parse-settings.ts";

export const traceSettings = {
  TREADLE_TRACING: flag.default(true).describe("Trace the runs of the built-in graphs and of deployments."),
  TREADLE_MODEL_PRICES_FILE: text
    .optional()
    .describe("A JSON file with model prices, which take precedence over the built-in ones; docs/traces.md."),
  TREADLE_TRACES_URL: z
    .string()
    .refine(
      isClickHouseUrl,
      "must be https://user:password@host:8443/database, or http://, the address of a ClickHouse database; other parts of a URL are not used",
    )
    .optional()
    .describe(
      "A ClickHouse 26.3+ database for the runs of traces, instead of PostgreSQL: https://user:password@host:8443/database. The same for all processes; docs/traces.md.",
    ),
  TREADLE_TRACES_CLUSTER: text
    .optional()
    .describe(
      "Name of the ClickHouse cluster whose servers all hold the runs, as replicas of each other; default: one server.",
    ),
  TREADLE_TRACES_EXPORT: z
    .enum(["engine", "treadle"])
    .optional()
    .describe(
      "With TREADLE_TRACES_URL, who writes the files of bulk exports: engine, the ClickHouse server (default for one server), or treadle (default for a cluster, and for buckets that ClickHouse does not reach).",
    ),
};

function isClickHouseUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return false;
  return url.hostname !== "" && /^\/[^/]+$/.test(url.pathname) && url.search === "" && url.hash === "";
}

export function traceConfigOf(env: z.output<z.ZodObject<typeof traceSettings>>) {
  const { TREADLE_TRACES_URL: url, TREADLE_TRACES_CLUSTER: cluster } = env;
  if (url === undefined && cluster !== undefined)
    throw invalidSettings(
      "TREADLE_TRACES_CLUSTER names the cluster of TREADLE_TRACES_URL, which is not set. Set it, or leave both out to keep traces in PostgreSQL.",
    );
  const { TREADLE_TRACES_EXPORT: exporter = cluster === undefined ? "engine" : "treadle" } = env;
  if (cluster !== undefined && exporter === "engine")
    throw invalidSettings(
      "TREADLE_TRACES_EXPORT=engine is for one ClickHouse server: on a cluster it cannot be said which server is writing a file. Leave it out, or set it to treadle.",
    );
  return {
    /** Whether that ClickHouse writes the files of exports itself. */
    exportByEngine: exporter === "engine",
    /** The ClickHouse that keeps runs; undefined: PostgreSQL does. */
    clickHouse: url === undefined ? undefined : { url, cluster },
    tracing: env.TREADLE_TRACING,
    modelPricesFile: env.TREADLE_MODEL_PRICES_FILE && resolve(env.TREADLE_MODEL_PRICES_FILE),
  };
}
