import { describe, expect, test } from "vitest";
import { type A2aPart, a2aMessage, toResumeValue, toRunInput } from "./a2a-message.ts";

const message = (...parts: A2aPart[]) => a2aMessage.parse({ role: "user", parts });
const text = (words: string): A2aPart => ({ kind: "text", text: words });
const data = (fields: Record<string, unknown>): A2aPart => ({ kind: "data", data: fields });

describe("toRunInput", () => {
  test("text becomes a message, data the other fields", () => {
    expect(toRunInput(message(text("a"), data({ n: 1 }), text("b")), true)).toEqual({
      n: 1,
      messages: [{ type: "human", content: "a\nb" }],
    });
    const before = data({ messages: [{ type: "ai", content: "hi" }] });
    expect(toRunInput(message(before, text("a")), true).messages).toEqual([
      { type: "ai", content: "hi" },
      { type: "human", content: "a" },
    ]);
  });

  test("files become content blocks of their kind", () => {
    const file = (fields: Record<string, string>): A2aPart => ({ kind: "file", file: fields });
    const input = toRunInput(
      message(file({ bytes: "AAAA", mimeType: "audio/wav" }), file({ uri: "https://example.org/x" })),
      true,
    );
    expect(input.messages).toEqual([
      {
        type: "human",
        content: [
          { type: "audio", mimeType: "audio/wav", data: "AAAA" },
          { type: "file", url: "https://example.org/x" },
        ],
      },
    ]);
    expect(a2aMessage.safeParse({ role: "user", parts: [file({ name: "empty" })] }).success).toBe(false);
  });

  test("a graph without messages takes data alone", () => {
    expect(toRunInput(message(data({ n: 1 })), false)).toEqual({ n: 1 });
    expect(() => toRunInput(message(text("a")), false)).toThrow(/data part/);
  });
});

test("an answer is its text, its data, or both", () => {
  expect(toResumeValue(message(text("yes")))).toBe("yes");
  expect(toResumeValue(message(data({ ok: true })))).toEqual({ ok: true });
  expect(toResumeValue(message(data({ ok: true }), text("fine")))).toEqual({ ok: true, text: "fine" });
});
