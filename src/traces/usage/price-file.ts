import { readFile } from "node:fs/promises";
import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import type { OwnPrice } from "./model-prices.ts";

const dollars = z.number({ error: "must be a number of US dollars per million tokens" }).min(0);
const name = z.string({ error: "must be text" }).trim().min(1, "must not be empty");

const entrySchema = z
  .strictObject({
    match: name.regex(/^[^*]*\*?$/, "may have one *, at its end"),
    provider: name.optional(),
    input: dollars,
    output: dollars,
    cache_read: dollars.optional(),
    cache_write: dollars.optional(),
  })
  .transform(
    ({ match, provider, input, output, cache_read, cache_write }): OwnPrice => ({
      match,
      provider,
      price: {
        input,
        output,
        ...(cache_read === undefined ? {} : { cacheRead: cache_read }),
        ...(cache_write === undefined ? {} : { cacheWrite: cache_write }),
      },
    }),
  );

/** The operator's own prices of models; none without a file. */
export async function readPriceFile(path: string | undefined): Promise<OwnPrice[]> {
  if (path === undefined) return [];
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (code === "ENOENT") throw unusable(path, "it does not exist");
    throw unusable(path, code === undefined ? `it is not JSON (${message})` : `it cannot be read (${code})`);
  }
  if (!Array.isArray(value)) throw unusable(path, "it is not a list");
  const prices = value.map((entry, index) => readEntry(entry, index, path));
  refuseRepetition(prices, path);
  return prices;
}

function readEntry(entry: unknown, index: number, path: string): OwnPrice {
  const parsed = entrySchema.safeParse(entry);
  if (parsed.success) return parsed.data;
  const { match } = (entry ?? {}) as { match?: unknown };
  const named = typeof match === "string" ? ` ("${match}")` : "";
  const problems = parsed.error.issues.map(({ path: [field], message }) =>
    field === undefined ? message : `${String(field)}: ${message}`,
  );
  throw unusable(path, `entry ${index + 1}${named}: ${problems.join("; ")}`);
}

/** Of two entries for one model the second would never be used, which its author would not expect. */
function refuseRepetition(prices: readonly OwnPrice[], path: string): void {
  const places = new Map<string, number>();
  for (const [index, { match, provider = "" }] of prices.entries()) {
    const key = JSON.stringify([match.toLowerCase(), provider.toLowerCase()]);
    const earlier = places.get(key);
    if (earlier !== undefined)
      throw unusable(path, `entry ${index + 1} ("${match}") is for the same model as entry ${earlier + 1}`);
    places.set(key, index);
  }
}

function unusable(path: string, problem: string): AppError {
  return new AppError({
    code: "config.invalid",
    kind: "invalid",
    message:
      `TREADLE_MODEL_PRICES_FILE (${path}) cannot be used: ${problem}. It must be a JSON list of entries such as ` +
      `{"match": "my-model*", "input": 0.5, "output": 1.5}, in US dollars per million tokens.`,
  });
}
