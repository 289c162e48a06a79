import { expect, it } from "vitest";
import { failureText } from "./failure-text.ts";

const failure = {
  file: "src/agent.ts",
  line: 15,
  column: 21,
  reason: "Unexpected =",
  output: [] as string[],
};

it("begins with file, line and reason", () => {
  expect(failureText({ failure })).toBe("src/agent.ts:15:21: Unexpected =");
  expect(failureText({ failure: { ...failure, column: null } })).toBe("src/agent.ts:15: Unexpected =");
  expect(failureText({ failure: { ...failure, line: null } })).toBe("src/agent.ts: Unexpected =");
  expect(failureText({ failure: { ...failure, file: null, line: null } })).toBe("Unexpected =");
});

it("goes on with what the tool printed, unless that is the same once more", () => {
  expect(failureText({ failure: { ...failure, output: ["one", "two\u001b[31m"] } })).toBe(
    "src/agent.ts:15:21: Unexpected =\n  one\n  two",
  );
  expect(failureText({ failure: { ...failure, output: ["x: Unexpected ="] } })).toBe(
    "src/agent.ts:15:21: Unexpected =",
  );
  const output = [
    "npm error code E404",
    "npm error 404 Not Found",
    "npm error 404 Not Found",
    "",
    "it is gone",
  ];
  expect(
    failureText({ failure: { ...failure, file: null, line: null, reason: "404 Not Found", output } }),
  ).toBe("404 Not Found\n  npm error code E404\n  npm error 404 Not Found\n  \n  it is gone");
});

it("is one line where the log is shown", () => {
  expect(failureText({ failure: { ...failure, output: ["one", "two"] } }, { isLogShown: true })).toBe(
    "src/agent.ts:15:21: Unexpected =",
  );
});

it("is nothing where nobody knows", () => {
  expect(failureText({ failure: null })).toBeNull();
  expect(failureText({ failure: undefined })).toBeNull();
});
