import { describe, expect, it } from "vitest";
import { guessUse, maxImportRows, readImport, toExamples } from "./import-file.ts";

describe("JSON Lines", () => {
  it("takes examples as they are exported", () => {
    const text =
      '{"id":"1","inputs":{"q":1},"outputs":null,"metadata":{"a":1}}\r\n\n{"inputs":{"q":2},"outputs":{"x":3}}\n';
    expect(readImport("a.jsonl", text)).toEqual({
      kind: "whole",
      examples: [
        { inputs: { q: 1 }, metadata: { a: 1 } },
        { inputs: { q: 2 }, outputs: { x: 3 } },
      ],
    });
  });

  it("takes flat objects as rows of columns", () => {
    expect(readImport("a.jsonl", '{"q":1}\n{"q":2,"a":3}')).toEqual({
      kind: "columns",
      columns: ["q", "a"],
      rows: [{ q: 1 }, { q: 2, a: 3 }],
    });
  });

  it.each([
    ['{"inputs":{}}\n{oops', /^Line 2 is not JSON: \{oops$/],
    ["\n[1]", /^Line 2 is not a JSON object/],
    ['{"inputs":{}}\n{"q":1}', /^Line 2: “inputs” must be/],
    ['{"inputs":{},"outputs":3}', /^Line 1: “outputs” must be/],
    ["\n\n", /no examples/],
    ['{"q":1}\n'.repeat(maxImportRows + 1), /10,001 rows; 10,000 can be added/],
  ])("refuses %.20j with the line that is wrong", (text, message) => {
    expect(readImport("a.jsonl", text)).toEqual({ kind: "fault", message: expect.stringMatching(message) });
  });
});

describe("CSV", () => {
  it("takes away the quotes that an export puts before formulas, in tables of an export alone", () => {
    const own = readImport("a.csv", `id,inputs.q,outputs.a\r\n1,"'=HYPERLINK(""x"")",''@b\r\n`);
    expect(own).toMatchObject({ rows: [{ "inputs.q": '=HYPERLINK("x")', "outputs.a": "'@b" }] });
    expect(readImport("a.csv", "q\n'=1\n")).toMatchObject({ rows: [{ q: "'=1" }] });
  });

  it("has rows of columns", () => {
    expect(readImport("A.CSV", "q,a\n1,2\n")).toEqual({
      kind: "columns",
      columns: ["q", "a"],
      rows: [{ q: "1", a: "2" }],
    });
  });

  it.each([
    ["q,a\n1,2\n3\n", /^Line 3 has 1 fields, but the first line names 2 columns\.$/],
    ['q,a\n1,"2\n', /^Line 2: a quote is opened/],
    ["q,q\n1,2\n", /two columns have the name “q”/],
    ["q,\n1,2\n", /column 2 has no name/],
    ["", /first line names the columns/],
    ["q\n", /no examples/],
  ])("refuses %j with the line that is wrong", (text, message) => {
    expect(readImport("a.csv", text)).toEqual({ kind: "fault", message: expect.stringMatching(message) });
  });
});

it("an exported table becomes the examples it was made of", () => {
  const columns = ["id", "inputs.q", "outputs.a", "answer", "topic"];
  const uses = Object.fromEntries(columns.map((column) => [column, guessUse(column)]));
  expect(uses).toEqual({
    id: "none",
    "inputs.q": "inputs",
    "outputs.a": "outputs",
    answer: "outputs",
    topic: "inputs",
  });
  const row = { id: "1", "inputs.q": "x", "outputs.a": "y", answer: "z", topic: "t" };
  expect(toExamples([row], { ...uses, topic: "metadata" })).toEqual([
    { inputs: { q: "x" }, outputs: { a: "y", answer: "z" }, metadata: { topic: "t" } },
  ]);
  expect(toExamples([{ q: 1 }], { q: "inputs" })).toEqual([{ inputs: { q: 1 } }]);
});
