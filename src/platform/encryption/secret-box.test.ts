import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { SecretBox, sealedPrefix } from "./secret-box.ts";

const box = new SecretBox({ currentKey: "a key of some length" });

describe("a sealed text", () => {
  test("opens to what was sealed, also empty and non-Latin text", () => {
    for (const text of ["", "secret", "ключ 🗝", "x".repeat(100_000)]) {
      expect(box.open(box.seal(text))).toBe(text);
    }
  });

  test("differs every time and shows nothing but its key's id", () => {
    const [first, second] = [box.seal("secret"), box.seal("secret")];
    expect(first).not.toBe(second);
    expect(first.startsWith(sealedPrefix(box.currentKeyId()))).toBe(true);
    expect(first).not.toContain("secret");
  });

  test("opens only in the context it was sealed for", () => {
    const sealed = box.seal("secret", "provider:1");
    expect(box.open(sealed, "provider:1")).toBe("secret");
    expect(() => box.open(sealed, "provider:2")).toThrow(expect.objectContaining({ code: "secret.damaged" }));
    expect(() => box.open(sealed)).toThrow(expect.objectContaining({ code: "secret.damaged" }));
  });

  test("is refused after any change", () => {
    const sealed = box.seal("secret");
    const at = sealed.length - 5;
    const changed = sealed.slice(0, at) + (sealed[at] === "A" ? "B" : "A") + sealed.slice(at + 1);
    for (const bad of [
      changed,
      sealed.slice(0, -4),
      "",
      "t1..",
      "plain text",
      `${sealed.slice(0, 22)}AAAA`,
    ]) {
      expect(() => box.open(bad)).toThrow(expect.objectContaining({ code: "secret.damaged" }));
    }
  });
});

describe("keys", () => {
  test("the same key opens in another box, another key says which one is needed", () => {
    const sealed = box.seal("secret");
    expect(new SecretBox({ currentKey: "a key of some length" }).open(sealed)).toBe("secret");
    const other = new SecretBox({ currentKey: "another key of some length" });
    expect(() => other.open(sealed)).toThrow(
      expect.objectContaining({
        code: "secret.wrong_key",
        message: expect.stringContaining(box.currentKeyId()),
      }),
    );
  });

  test("a previous key opens and is not sealed with", () => {
    const next = new SecretBox({
      currentKey: randomBytes(32),
      previousKeys: ["a key of some length"],
    });
    expect(next.open(box.seal("old"))).toBe("old");
    expect(next.currentKeyId()).not.toBe(box.currentKeyId());
    expect(next.seal("new").startsWith(sealedPrefix(next.currentKeyId()))).toBe(true);
    expect(() => box.open(next.seal("new"))).toThrow(expect.objectContaining({ code: "secret.wrong_key" }));
  });

  test("a box takes over the keys of a rotation", () => {
    const rotating = new SecretBox({ currentKey: "a key of some length" });
    const sealed = rotating.seal("old");
    rotating.replaceKeys({ currentKey: "the next key, longer", previousKeys: ["a key of some length"] });
    expect(rotating.open(sealed)).toBe("old");
    expect(rotating.currentKeyId()).not.toBe(box.currentKeyId());
  });

  test("a short key is refused", () => {
    expect(() => new SecretBox({ currentKey: "short" })).toThrow(
      expect.objectContaining({ code: "secret.short_key" }),
    );
  });
});
