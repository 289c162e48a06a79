import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Statement } from "../../src/platform/db/database.ts";

const source = new URL("../../src/", import.meta.url);
const declaration = /^(export )?const (\w+): Statement\b/gm;

/** Every hot statement of every area, found in the source: a new one is read too, without being named here. */
export async function listHotStatements(): Promise<{ key: string; statement: Statement }[]> {
  const found: { key: string; statement: Statement }[] = [];
  for (const path of readdirSync(fileURLToPath(source), { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".ts") || path.endsWith(".test.ts")) continue;
    const text = readFileSync(new URL(path, source), "utf8");
    const names = [...text.matchAll(declaration)];
    if (names.length === 0) continue;
    const module = (await import(new URL(path, source).href)) as Record<string, Statement | undefined>;
    for (const [, , name = ""] of names) {
      const statement = module[name];
      if (statement === undefined) {
        throw new Error(`src/${path}: export ${name}, so that its plan can be read by tests/plans.test.ts.`);
      }
      found.push({ key: `${path}: ${statement.name || name}`, statement });
    }
  }
  return found;
}
