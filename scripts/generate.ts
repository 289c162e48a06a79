import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateChart } from "./generate-chart.ts";
import { generateConfiguration } from "./generate-configuration.ts";
import { generateErrors } from "./generate-errors.ts";
import { generateFilterLanguage } from "./generate-filter-language.ts";
import { generateOpenApi } from "./generate-openapi.ts";
import { generateSchema } from "./generate-schema.ts";
import { generateWireTypes } from "./generate-wire-types.ts";

/**
 * Writes every file that follows from the code: `npm run generate`.
 * With `--check` it writes nothing and fails when one of them is out of date.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const check = process.argv.includes("--check");

const documents = await generateOpenApi();
const whole = documents.find(({ path }) => path === "openapi/treadle.json")!;
const files = [
  ...(await generateSchema()),
  ...documents,
  generateWireTypes(whole.content),
  generateFilterLanguage(),
  generateConfiguration(),
  generateErrors(),
  ...generateChart(),
];

const stale: string[] = [];
for (const { path, content } of files) {
  const target = join(root, path);
  const current = await readFile(target, "utf8").catch(() => null);
  if (current === content) continue;
  if (check) {
    stale.push(path);
    continue;
  }
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, content);
  console.log(`wrote ${path}`);
}
if (stale.length > 0) {
  console.error(`Out of date: ${stale.join(", ")}. Run \`npm run generate\` and commit the result.`);
  process.exit(1);
}
console.log(check ? `${files.length} generated files are up to date` : "done");
process.exit(0);
