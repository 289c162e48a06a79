import { describe, expect, test } from "vitest";
import { afterAnnouncing, announcementOf, isAnnouncementDue } from "./announcement.ts";
import type { Turn } from "./turns.ts";

const asked: Turn = { id: "asked", kind: "human", text: "6 * 7?", files: [] };
const answer: Turn = {
  id: "answer",
  lastId: "answer",
  kind: "assistant",
  parts: [{ kind: "text", key: "0", text: "**42**" }],
};

describe("an answer is announced", () => {
  test("when its run has ended", () => {
    expect(isAnnouncementDue({ due: true, lastId: undefined }, [asked, answer])).toBe(true);
    expect(announcementOf([asked, answer])).toBe("The assistant answered: 42");
  });

  test("again when there is more of it", () => {
    expect(isAnnouncementDue(afterAnnouncing([asked, answer]), [asked, answer])).toBe(true);
  });

  test("also when its words come after the end of the run was announced", () => {
    expect(announcementOf([asked])).toBe("The answer ended.");
    expect(isAnnouncementDue(afterAnnouncing([asked]), [asked, answer])).toBe(true);
  });

  test("not when it was there before anything was asked here, nor in another conversation", () => {
    expect(isAnnouncementDue({ due: false, lastId: undefined }, [asked, answer])).toBe(false);
    expect(isAnnouncementDue(afterAnnouncing([asked, answer]), [{ ...answer, id: "another" }])).toBe(false);
    expect(isAnnouncementDue({ due: false, lastId: undefined }, [])).toBe(false);
  });
});
