import { describe, expect, test } from "vitest";
import { afterTelling, answerToTell, isToBeTold } from "./announcement.ts";
import type { Turn } from "./turns.ts";

const asked: Turn = { id: "asked", kind: "human", text: "6 * 7?" };
const answer: Turn = {
  id: "answer",
  kind: "assistant",
  parts: [{ kind: "text", key: "0", text: "**42**" }],
};

describe("an answer is told", () => {
  test("when its run has ended", () => {
    expect(isToBeTold({ due: true, lastId: undefined }, [asked, answer])).toBe(true);
    expect(answerToTell([asked, answer])).toBe("The assistant answered: 42");
  });

  test("again when there is more of it", () => {
    expect(isToBeTold(afterTelling([asked, answer]), [asked, answer])).toBe(true);
  });

  test("also when its words come after the end of the run was told", () => {
    expect(answerToTell([asked])).toBe("The answer ended.");
    expect(isToBeTold(afterTelling([asked]), [asked, answer])).toBe(true);
  });

  test("not when it was there before anything was asked here, nor in another conversation", () => {
    expect(isToBeTold({ due: false, lastId: undefined }, [asked, answer])).toBe(false);
    expect(isToBeTold(afterTelling([asked, answer]), [{ ...answer, id: "another" }])).toBe(false);
    expect(isToBeTold({ due: false, lastId: undefined }, [])).toBe(false);
  });
});
