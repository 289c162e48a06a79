import { expect, test } from "vitest";
import { hintOf } from "./model-key.ts";

test("a long key is recognized by its last characters, a short one shows nothing", () => {
  expect(hintOf("sk-proj-0123456789abcdefWXYZ")).toBe("…WXYZ");
  expect(hintOf("short-secret")).toBe("…");
});
