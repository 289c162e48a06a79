import { expect, it } from "vitest";
import {
  isStudioCode,
  isStudioToken,
  studioCode,
  studioCookieName,
  studioLink,
  studioLinkMs,
  studioToken,
} from "./studio-code.ts";

const [ours, theirs] = ["the secret of this server", "the secret of another one"];

it("a link's code is good until its time is up, and only for its server", () => {
  const link = studioLink("http://127.0.0.1:2024", ours, 1_000);
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:2024\/studio#code=/);
  const code = link.split("#code=")[1]!;
  expect(isStudioCode(ours, code, 1_000)).toBe(true);
  expect(isStudioCode(ours, code, 1_000 + studioLinkMs)).toBe(false);
  expect(isStudioCode(theirs, code, 1_000)).toBe(false);
});

it("a code cannot be made longer, and nonsense is none", () => {
  const code = studioCode(ours, 5_000);
  const later = `${(9_000_000).toString(36)}.${code.split(".")[1]}`;
  expect(isStudioCode(ours, later, 1_000)).toBe(false);
  for (const nonsense of ["", ".", "x", "zzzzzzzzzzzzzzzzzz.a", "-1.x"]) {
    expect(isStudioCode(ours, nonsense, 1_000)).toBe(false);
  }
});

it("a browser is known by its server alone", () => {
  expect(isStudioToken(ours, studioToken(ours))).toBe(true);
  expect(isStudioToken(theirs, studioToken(ours))).toBe(false);
  expect(studioCookieName(ours)).not.toBe(studioCookieName(theirs));
});
