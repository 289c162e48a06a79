import { expect, test } from "vitest";
import { hasProblem, shownProblem } from "./form-problems.ts";

test("fields without words have no problem", () => {
  expect(hasProblem({})).toBe(false);
  expect(hasProblem({ name: null, url: undefined, path: "" })).toBe(false);
  expect(hasProblem({ name: null, url: "Which?" })).toBe(true);
});

test("a field is complained about once it may be judged; what the server refused, at once", () => {
  const problems = { name: "Give it a name.", url: null };
  const refused = { name: "Taken.", url: "Not reachable." };
  const nothing = new Set<"name" | "url">();
  expect(shownProblem("name", { problems, judged: nothing, refused: {} })).toBeUndefined();
  expect(shownProblem("name", { problems, judged: new Set(["name"]), refused })).toBe("Give it a name.");
  expect(shownProblem("name", { problems, judged: nothing, refused })).toBe("Taken.");
  expect(shownProblem("url", { problems, judged: new Set(["url"]), refused })).toBe("Not reachable.");
});
