import { expect, it } from "vitest";
import { isChatMessage } from "./chat-message.ts";

it.each([
  [{ type: "human", content: "hi" }, true],
  [{ role: "user", content: null }, true],
  [{ type: "human" }, false],
  [{ content: "hi" }, false],
  ["hi", false],
  [null, false],
])("%j: %s", (value, expected) => expect(isChatMessage(value)).toBe(expected));
