import { expect, it } from "vitest";
import { feedbackText } from "./feedback-text.ts";

it("marks in one line", () => {
  expect(feedbackText({ helpful: { n: 3, avg: 0.6667 }, note: { n: 2, avg: null } })).toBe(
    "helpful 0.67, note ×2",
  );
  expect(feedbackText(null)).toBe("");
});
