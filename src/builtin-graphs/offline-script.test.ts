import { describe, expect, test } from "vitest";
import { evaluateArithmetic, formatNumber } from "./arithmetic.ts";
import { findExpression, readPlaces, readToolWishes } from "./offline-intents.ts";
import { splitIntoTokens } from "./offline-reply.ts";

describe("arithmetic", () => {
  test.each([
    ["1 + 2 * 3", "7"],
    ["(1 + 2) * 3", "9"],
    ["2 ^ 3 ^ 2", "512"],
    ["-2 ^ 2", "-4"],
    ["10 % 4 - -1", "3"],
    ["0.1 + 0.2", "0.3"],
  ])("%s is %s", (expression, expected) => {
    expect(formatNumber(evaluateArithmetic(expression))).toBe(expected);
  });

  test.each(["1 +", "(1", "2 3", "process.exit()", "", "1 / 0", "1 % 0", "1..2"])(
    "refuses %j",
    (expression) => {
      expect(() => evaluateArithmetic(expression)).toThrow(/arithmetic|zero/);
    },
  );
});

describe("what a person wants", () => {
  test.each([
    ["what's 12*7?", "12*7"],
    ["add (3 + 4) × 2 please", "(3 + 4) * 2"],
    ["we met on 2031-02-03", undefined],
    ["I have 3 cats", undefined],
  ])("an expression in %j is %j", (text, expected) => {
    expect(findExpression(text)).toBe(expected);
  });

  test("places are separated by commas and and", () => {
    expect(readPlaces("weather in Paris, New York and Rome today?")).toEqual(["Paris", "New York", "Rome"]);
  });

  test("research goes to the subagent, one task per side of a comparison", () => {
    expect(readToolWishes("research streaming vs tracing")).toEqual([
      { name: "task", args: { subagent_type: "researcher", description: "streaming" } },
      { name: "task", args: { subagent_type: "researcher", description: "tracing" } },
    ]);
  });

  test.each([
    ["What is my account at github?", "github"],
    ["what's my account on the Google Calendar", "Google Calendar"],
    ["Use my GitHub account please", "GitHub"],
    ["Use my acme-crm account to look at the orders", "acme-crm"],
    ["Who am I at Slack?", "Slack"],
    ["connect me to linear and then stop", "linear"],
  ])("%j is about the account at %j", (text, provider) => {
    expect(readToolWishes(text)).toEqual([{ name: "get_account", args: { provider } }]);
  });

  test("what would be done to an account is approved first", () => {
    expect(readToolWishes("delete my GitHub account").map((wish) => wish.name)).toEqual([
      "run_guarded_action",
    ]);
  });

  test("plain talk needs no tool", () => {
    expect(readToolWishes("hello there, how are you?")).toEqual([]);
  });
});

test("tokens joined again are the text", () => {
  const text = "  One two\n\n```ts\ncode\n```\n";
  expect(splitIntoTokens(text).join("")).toBe(text);
});
