import { describe, expect, test } from "vitest";
import { AppError } from "../platform/errors.ts";
import { askForOwner, isDeclined, ownerOf } from "./connected-accounts.ts";

describe("what a person answered", () => {
  test.each([
    "no",
    "Not now",
    "later, please",
    false,
    { type: "declined" },
    { type: "reject", message: "why?" },
    [{ type: "reject" }],
    { decisions: [{ type: "reject" }] },
  ])("%j is a no", (answer) => {
    expect(isDeclined(answer)).toBe(true);
  });

  test.each(["yes", true, null, undefined, "", {}, { type: "connected" }, "nothing to add", 1])(
    "%j means: look again",
    (answer) => {
      expect(isDeclined(answer)).toBe(false);
    },
  );
});

describe("whose account it is", () => {
  test.each([
    [{ sub: "u1", name: "Ada", email: "ada@example.com" }, "Ada (ada@example.com)"],
    [{ login: "ada", id: 7, name: null }, "ada"],
    [{ login: "ada", id: 7, name: "Ada" }, "Ada (ada)"],
    [{ data: { id: "1", name: "Ada", username: "ada" } }, "Ada (ada)"],
    [{ displayName: "Ada", userPrincipalName: "ada@example.com" }, "Ada (ada@example.com)"],
    [{ id: 7 }, "7"],
    [{ name: "x".repeat(1000) }, null],
    [{}, null],
    [null, null],
    ["text", null],
  ])("%j", (profile, expected) => {
    expect(ownerOf(profile)).toBe(expected);
  });

  const found = {
    status: "completed",
    token: "the-token",
    account: null,
    provider: { id: "p", name: "P" },
    userinfoUrl: "https://p.example/me",
  } as const;

  test("the token goes to that address alone, and no redirect is followed", async () => {
    const asked: unknown[] = [];
    const fetch = async (url: string, init: object) => {
      asked.push(url, init);
      return Response.json({ name: "Ada" });
    };
    expect(await askForOwner({ fetch }, found, undefined)).toBe("Ada");
    expect(asked).toMatchObject([
      "https://p.example/me",
      { redirect: "manual", headers: { authorization: "Bearer the-token" } },
    ]);
  });

  test.each([
    ["refuses", async () => Response.json({ error: "no" }, { status: 403 })],
    ["sends a page", async () => new Response("<html>")],
    [
      "is down",
      async () => {
        throw new AppError({ code: "network.unreachable", kind: "bad_gateway", message: "down" });
      },
    ],
  ])("unknown when the provider %s", async (_what, fetch) => {
    expect(await askForOwner({ fetch }, found, undefined)).toBeNull();
  });

  test("an unexpected failure repeats nothing of what was sent", async () => {
    const fetch = async () => {
      throw new TypeError("bad header: Bearer the-token");
    };
    await expect(askForOwner({ fetch }, found, undefined)).rejects.toThrow(
      /^P could not be asked whose account it is\.$/,
    );
  });
});
