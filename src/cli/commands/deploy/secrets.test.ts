import { expect, test } from "vitest";
import { mergeSecrets, nextVariables, parseSecret, parseSecretReference, readSecrets } from "./secrets.ts";

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

test("a reference is NAME=SECRET/KEY", () => {
  expect(parseSecretReference("A=model-keys/open.ai")).toEqual({
    ...{ name: "A", secret_name: "model-keys", secret_key: "open.ai" },
  });
  for (const text of ["A", "A=x", "=x/y", "A=/y", "A=x/", "A=ns/x/y", ""])
    expect(() => parseSecretReference(text)).toThrow(/NAME=SECRET\/KEY/);
});

test("a variable is a secret or a reference: the one that is given takes the other's place", () => {
  const reference = (name: string) => ({ name, secret_name: "keys", secret_key: "x" });
  const masked = (name: string) => ({ name, value: "********" });
  const before = { secrets: [masked("A"), masked("B")], secret_references: [reference("C"), reference("D")] };
  const nothing = { secrets: null, references: [] };
  expect(nextVariables(before, nothing)).toEqual({});
  // Lists that do not change are not sent.
  expect(nextVariables(before, nothing, ["D"])).toEqual({
    secret_references: [reference("C")],
  });
  expect(nextVariables(before, { secrets: null, references: [reference("E")] })).toEqual({
    secret_references: [reference("C"), reference("D"), reference("E")],
  });
  expect(nextVariables(before, { secrets: null, references: [reference("B")] })).toEqual({
    ...{ secrets: [masked("A")], secret_references: [reference("C"), reference("D"), reference("B")] },
  });
  expect(nextVariables(before, { secrets: [{ name: "C", value: "v" }], references: [] })).toEqual({
    ...{
      secrets: [masked("A"), masked("B"), { name: "C", value: "v" }],
      secret_references: [reference("D")],
    },
  });
  // The last one goes with an empty list.
  expect(nextVariables(before, nothing, ["C", "D"])).toMatchObject({ secret_references: [] });
  expect(nextVariables({ secrets: [] }, { secrets: null, references: [reference("A")] })).toEqual({
    secret_references: [reference("A")],
  });
});
