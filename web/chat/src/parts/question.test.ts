import { expect, it } from "vitest";
import { readAnswer, readQuestion } from "./question.ts";

it.each([
  ["May I?", "May I?", undefined],
  [{ question: "May I?" }, "May I?", undefined],
  [{ message: "Check this", draft: { to: "Ann" } }, "Check this", { draft: { to: "Ann" } }],
  [{ question: "", text: "Which one?" }, "Which one?", { question: "" }],
  [{ question: 3 }, undefined, { question: 3 }],
  [["one", "two"], undefined, ["one", "two"]],
  [null, undefined, null],
])("a question has words, and what else there is: %j", (ask, words, data) => {
  expect(readQuestion(ask)).toEqual({ words, data });
});

it.each([
  ["yes", "yes"],
  ["true", true],
  ['{"approved": true}', { approved: true }],
  ["", ""],
  ["{half", "{half"],
])("an answer is JSON or words: %j", (text, value) => {
  expect(readAnswer(text)).toEqual(value);
});
