import { exportedFields } from "../../exported-fields.ts";
import { fieldSql } from "./exported-runs.ts";
import { literal } from "./inline-values.ts";

/** As clients sent them. */
const jsonFields = new Set(["inputs", "outputs", "extra", "events"]);

/**
 * Names of the columns of a file, each with what is written there: of the types our own writer has. `isJoined`: what was
 * said of a run is beside it, as `said_stats` and `said_entries`.
 */
export function parquetColumns(fields: readonly string[], isJoined: boolean): string {
  return fields.map((name) => `${columnSql(name, isJoined)} as ${name}`).join(", ");
}

const text = (sql: string) => `cast(${sql}, 'Nullable(String)')`;

function columnSql(name: string, isJoined: boolean): string {
  if (name === "tenant_id") return text("toString(workspace_id)");
  if (name === "session_id") return text("toString(project_id)");
  if (name === "feedback_stats") return isJoined ? "said_stats" : text("null");
  if (name === "feedbacks") return text(isJoined ? "ifNull(said_entries, '[]')" : "'[]'");
  if (jsonFields.has(name)) return `if(isNull(${name}), null, ${wellFormed(`assumeNotNull(${name})`)})`;
  const field = exportedFields([name]).find((each) => each.name === name)!;
  switch (field.kind) {
    case "uuid":
      return text(`toString(${name})`);
    case "uuid_list":
      return `arrayMap(each -> ${text("toString(each)")}, ${name})`;
    case "text_list":
      return `cast(${name}, 'Array(Nullable(String))')`;
    default:
      return fieldSql(field);
  }
}

const unicode = "\\\\u[dD]";
/** Both halves, one of them, any other escape, and what is between them: all of a text. */
const pieces = literal(
  `(?s)${unicode}[89abAB].{2}${unicode}[c-fC-F].{2}|${unicode}[89a-fA-F].{2}|\\\\.|[^\\\\]+|\\\\`,
);
const half = literal(`^${unicode}[89a-fA-F].{2}$`);

/** JSON text in which half a surrogate is replaced: one of them makes readers refuse a whole file. */
function wellFormed(json: string): string {
  const replaced = `arrayStringConcat(arrayMap(each -> if(match(each, ${half}), ${literal("\\ufffd")}, each), extractAll(${json}, ${pieces})))`;
  const has = (start: string) => `position(${json}, ${literal(start)}) > 0`;
  return `if(${has("\\ud")} or ${has("\\uD")}, ${replaced}, ${json})`;
}
