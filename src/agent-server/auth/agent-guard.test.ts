import { describe, expect, test } from "vitest";
import type { Caller } from "../../platform/http/access/caller.ts";
import { createLogger } from "../../platform/logger.ts";
import { AgentGuard } from "./agent-guard.ts";
import { toPrincipal } from "./principal.ts";

const logger = createLogger({ level: "silent" });
const caller: Caller = {
  organizationId: "o",
  workspaceId: "w",
  userId: "ada",
  role: "admin",
  via: "api_key",
  scopes: null,
  mayUseAccounts: false,
  principal: toPrincipal({ identity: "ada", permissions: ["read"], team: "blue" })!,
};

type Callbacks = ConstructorParameters<typeof AgentGuard>[0]["callbacks"];
const guardOf = (callbacks: Callbacks) => new AgentGuard({ callbacks }, logger);

describe("the most particular handler answers", () => {
  const all: Callbacks = {
    "threads:create": () => ({ by: "threads:create" }),
    threads: () => ({ by: "threads" }),
    "*:create": () => ({ by: "*:create" }),
    "*": () => ({ by: "*" }),
  };

  test.each([
    [Object.keys(all), "threads:create"],
    [["threads", "*:create", "*"], "threads"],
    [["*:create", "*"], "*:create"],
    [["*"], "*"],
  ])("of %j: %s", async (keys, expected) => {
    const guard = guardOf(Object.fromEntries(Object.entries(all).filter(([key]) => keys.includes(key))));
    expect(await guard.check(caller, "threads", "create", {})).toEqual({ by: expected });
  });

  test("and none permits", async () => {
    expect(await guardOf({}).check(caller, "threads", "create", {})).toBeUndefined();
  });
});

test("a handler sees who asks for what, and may change the value", async () => {
  const seen: unknown[] = [];
  const value = { metadata: {} as Record<string, unknown> };
  const guard = guardOf({
    assistants: (context) => {
      const { value: given, user, ...rest } = context as { value: typeof value; user: { identity: string } };
      given.metadata.owner = user.identity;
      seen.push({ user, ...rest });
    },
  });
  expect(await guard.check(caller, "assistants", "update", value)).toBeUndefined();
  expect(value).toEqual({ metadata: { owner: "ada" } });
  expect(seen).toEqual([
    {
      event: "assistants:update",
      resource: "assistants",
      action: "update",
      permissions: ["read"],
      user: {
        identity: "ada",
        team: "blue",
        permissions: ["read"],
        display_name: "ada",
        is_authenticated: true,
      },
    },
  ]);
});

describe("what a handler answers", () => {
  const answer = (value: unknown) => guardOf({ "*": () => value }).check(caller, "store", "put", {});

  test.each([[undefined], [null], [true]])("%j permits", async (value) => {
    expect(await answer(value)).toBeUndefined();
  });

  test("false is 403", async () => {
    await expect(answer(false)).rejects.toMatchObject({ kind: "forbidden" });
  });

  test("something else, or a filter nobody knows, opens nothing", async () => {
    await expect(answer("yes")).rejects.toMatchObject({ code: "auth.answer_unusable" });
    await expect(answer({ owner: { $like: "a" } })).rejects.toMatchObject({ code: "auth.filter_unusable" });
  });

  test("an exception with a status keeps it, another is a defect", async () => {
    const throwing = (error: unknown) =>
      guardOf({
        "*": () => {
          throw error;
        },
      }).check(caller, "crons", "read", {});
    const stated = Object.assign(new Error("not before noon"), { status: 409 });
    await expect(throwing(stated)).rejects.toMatchObject({ kind: "conflict", message: "not before noon" });
    await expect(throwing(new Error("oops"))).rejects.toMatchObject({ code: "auth.handler_failed" });
  });
});

test("a caller the project did not recognise is not asked about", async () => {
  const { principal: _principal, ...plain } = caller;
  const guard = guardOf({ "*": () => false });
  expect(await guard.check(plain, "threads", "read", {})).toBeUndefined();
});

describe("what authenticate returned", () => {
  test.each([
    ["ada", "ada"],
    [{ identity: "ada" }, "ada"],
    [{ identity: "" }, undefined],
    [{ identity: "ada", is_authenticated: false }, undefined],
    [{ name: "ada" }, undefined],
    [undefined, undefined],
    [null, undefined],
  ])("%j is %s", (returned, identity) => {
    expect(toPrincipal(returned)?.identity).toBe(identity);
  });
});
