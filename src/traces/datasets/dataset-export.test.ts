import { expect, test } from "vitest";
import { parseCsv } from "./csv.ts";
import type { Example } from "./dataset.ts";
import { addColumns, type ExportColumns, toCsvHeader, toCsvLine, toJsonLine } from "./dataset-export.ts";

const example = (id: string, inputs: unknown, outputs?: unknown): Example => ({
  id,
  workspace_id: "w",
  dataset_id: "d",
  inputs: JSON.stringify(inputs),
  outputs: outputs === undefined ? null : JSON.stringify(outputs),
  metadata: { dataset_split: ["base"] },
  source_run_id: null,
  created_at: "",
  modified_at: "",
});

test("a line of JSON is the example, whatever its values are", () => {
  const line = toJsonLine(example("1", { q: 'a "quoted"\nline', n: 3 }));
  expect(line.endsWith("}\n")).toBe(true);
  expect(line.trimEnd()).not.toContain("\n");
  expect(JSON.parse(line)).toEqual({
    id: "1",
    inputs: { q: 'a "quoted"\nline', n: 3 },
    outputs: null,
    metadata: { dataset_split: ["base"] },
  });
});

test("a table has the columns of all examples, and reads as it was written", () => {
  const examples = [
    example("1", { q: 'say "hi", twice\nor so' }, { a: "x" }),
    example("2", { q: "", n: 3 }, { a: { deep: [1] } }),
    example("3", "text alone"),
  ];
  const columns: ExportColumns = { inputs: new Set(), outputs: new Set() };
  for (const each of examples) addColumns(columns, each);
  const text = toCsvHeader(columns) + examples.map((each) => toCsvLine(each, columns)).join("");
  expect(parseCsv(text)).toEqual([
    ["id", "inputs.q", "inputs.n", "inputs", "outputs.a"],
    ["1", 'say "hi", twice\nor so', "", "", "x"],
    ["2", "", "3", "", '{"deep":[1]}'],
    ["3", "", "", "text alone", ""],
  ]);
});

test("no cell is a formula in a spreadsheet", () => {
  const columns: ExportColumns = { inputs: new Set(["q", "n"]), outputs: new Set(["=a"]) };
  const line = toCsvLine(example("1", { q: '=HYPERLINK("http://x")', n: -3 }, { "=a": "@b" }), columns);
  expect(line).toBe(`1,"'=HYPERLINK(""http://x"")",-3,'@b\r\n`);
  expect(toCsvHeader(columns)).toBe("id,inputs.q,inputs.n,outputs.=a\r\n");
});
