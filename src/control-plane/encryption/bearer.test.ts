import { expect, it } from "vitest";
import { SecretBox } from "../../platform/encryption/secret-box.ts";
import { showsSecret } from "./bearer.ts";

const secretBox = new SecretBox({ currentKey: "a secret key for tests only" });
const stored = { sealed: secretBox.seal("the token", "builds:1"), context: "builds:1" };

it.each([
  ["Bearer the token", true],
  ["Bearer the tokem", false],
  ["Bearer the token and more", false],
  ["the token", false],
  ["Bearer ", false],
])("%s", (authorization, expected) => {
  expect(showsSecret(new Headers({ authorization }), stored, secretBox)).toBe(expected);
});

it("nothing shown is nothing, and a secret that was sealed for another is not opened", () => {
  expect(showsSecret(new Headers(), stored, secretBox)).toBe(false);
  const shown = new Headers({ authorization: "Bearer the token" });
  expect(() => showsSecret(shown, { ...stored, context: "builds:2" }, secretBox)).toThrow();
});
