import { describe, expect, it } from "vitest";
import { answerTo, readQuestion } from "./question.ts";

const decided = (decision: "approve" | "edit" | "reject" | "respond", args = {}, words = "") => ({
  decision,
  args,
  words,
});

describe("a review of actions", () => {
  const asked = {
    action_requests: [{ name: "send", args: { to: "a" }, description: "Send it?" }, { name: "log" }],
    review_configs: [{ action_name: "send", allowed_decisions: ["approve", "edit"] }],
  };

  it("says which decisions each takes", () => {
    expect(readQuestion(asked)).toEqual({
      kind: "review",
      actions: [
        { name: "send", args: { to: "a" }, description: "Send it?", allowed: ["approve", "edit"] },
        { name: "log", args: {}, description: null, allowed: ["approve", "edit", "reject"] },
      ],
    });
  });

  it("is answered action by action", () => {
    const question = readQuestion(asked);
    expect(answerTo(question, [decided("edit", { to: "b" }), decided("reject", {}, "not now")])).toEqual({
      decisions: [
        { type: "edit", edited_action: { name: "send", args: { to: "b" } } },
        { type: "reject", message: "not now" },
      ],
    });
    expect(answerTo(question, [decided("approve"), decided("respond", {}, "ask Ann")])).toEqual({
      decisions: [{ type: "approve" }, { type: "respond", message: "ask Ann" }],
    });
  });
});

describe("the older list of requests", () => {
  const asked = [
    {
      action_request: { action: "send", args: { to: "a" } },
      config: { allow_edit: true, allow_ignore: true },
    },
  ];

  it("is read and answered in its own words", () => {
    const question = readQuestion(asked);
    expect(question).toMatchObject({ kind: "inbox", actions: [{ allowed: ["approve", "edit", "reject"] }] });
    expect(answerTo(question, [decided("approve")])).toEqual([{ type: "accept", args: null }]);
    expect(answerTo(question, [decided("edit", { to: "b" })])).toEqual([
      { type: "edit", args: { action: "send", args: { to: "b" } } },
    ]);
    expect(answerTo(question, [decided("reject")])).toEqual([{ type: "ignore", args: null }]);
    expect(answerTo(question, [decided("respond", {}, "why?")])).toEqual([
      { type: "response", args: "why?" },
    ]);
  });
});

describe("anything else", () => {
  it("is a free question", () => {
    expect(readQuestion("How old?")).toEqual({ kind: "free", words: "How old?", link: null });
    expect(readQuestion({ auth_url: "https://a.example/x" })).toMatchObject({ link: "https://a.example/x" });
    expect(readQuestion({ auth_url: "javascript:alert(1)" })).toMatchObject({ link: null });
    expect(() => answerTo(readQuestion(1), [])).toThrow("free question");
  });
});
