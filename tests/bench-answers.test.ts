import { describe, expect, it } from "vitest";
import { Answers, cell } from "../bench/answers.ts";

describe("the table of the bench", () => {
  it("has a row for each question, with the median and the spread of the rounds in the column of its subject", () => {
    const answers = new Answers(["ours", "peer"]);
    answers.add("ours", { "runs per s": 620, "start ms": 2_000.4 });
    answers.add("peer", { "runs per s": 33.26 });
    answers.add("ours", { "runs per s": 450, "start ms": 2_000.4 });
    answers.add("ours", { "runs per s": 1_500 });
    answers.add("peer", { "word ms": undefined });
    answers.note("Without the other one.");
    expect(answers.toMarkdown().replaceAll(/ +/g, " ").replaceAll(/-+/g, "-").split("\n")).toEqual([
      "| question | ours | peer |",
      "|-|-|-|",
      "| runs per s | 620 (450–1,500) | 33.3 |",
      "| start ms | 2,000 | |",
      "| word ms | | |",
      "",
      "- Without the other one.",
    ]);
  });

  it("shows small figures with more digits, and whole ones whole", () => {
    expect([cell([1.234]), cell([12.34]), cell([123.4]), cell([0]), cell([1, 2])]).toEqual([
      "1.23",
      "12.3",
      "123",
      "0",
      "1.50 (1–2)",
    ]);
  });
});
