import { expect, test } from "vitest";
import { mergeSecrets, parseSecret, readSecrets } from "./secrets.ts";

test("a secret is NAME=VALUE, or NAME with the value of this shell", () => {
  expect(parseSecret("A=b=c", {})).toEqual({ name: "A", value: "b=c" });
  expect(parseSecret("A=", {})).toEqual({ name: "A", value: "" });
  expect(parseSecret("A", { A: "here" })).toEqual({ name: "A", value: "here" });
  expect(() => parseSecret("A", {})).toThrow(/A is not set/);
  expect(() => parseSecret("=x", {})).toThrow(/NAME=VALUE/);
});

test("secrets that are there stay, those given replace, those removed go", async () => {
  const before = ["A", "B", "C"].map((name) => ({ name, value: "********" }));
  expect(mergeSecrets(before, null)).toBeUndefined();
  expect(await readSecrets({}, {})).toBeNull();
  expect(mergeSecrets(before, [{ name: "B", value: "new" }], ["C"])).toEqual([
    { name: "A", value: "********" },
    { name: "B", value: "new" },
  ]);
});
