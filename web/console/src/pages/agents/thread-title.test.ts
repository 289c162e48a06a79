import { expect, test } from "vitest";
import { titleOf } from "./thread-title.ts";

test("a thread is called what somebody called it, else what was said first", () => {
  const values = { messages: [{ type: "human", content: "a quagga rug" }] };
  expect(titleOf({ metadata: { title: "Rugs" }, values })).toBe("Rugs");
  expect(titleOf({ metadata: { title: "" }, values })).toBe("a quagga rug");
  expect(titleOf({ metadata: {}, values: { messages: [{ role: "user", content: "x".repeat(300) }] } })).toBe(
    `${"x".repeat(120)}…`,
  );
  expect(titleOf({ metadata: {}, values: null })).toBeNull();
  expect(titleOf({ metadata: {}, values: { seen: [] } })).toBeNull();
});
