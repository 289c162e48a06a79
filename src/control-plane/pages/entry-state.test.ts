import { expect, it } from "vitest";
import { SecretBox } from "../../platform/encryption/secret-box.ts";
import { EntryStates, entryLifetimeMs } from "./entry-state.ts";

const origin = "https://a.agents.example.com";
const secretBox = new SecretBox({ currentKey: "a secret key for tests only" });
let now = new Date("2026-01-01T00:00:00Z");
const states = new EntryStates({ secretBox, clock: { now: () => now } });
const attempt = { origin, browser: "the secret of one browser", target: "/page?x=1" };

it("knows its browser and where it wants to go", () => {
  const state = states.open(states.make(attempt), origin);
  expect(state?.path).toBe("/page?x=1");
  expect(state?.isOf(attempt.browser)).toBe(true);
  expect(state?.isOf("another's")).toBe(false);
});

it("tells neither in an address", () => {
  const state = states.make(attempt);
  expect(state).toMatch(/^[\w.-]+$/);
  for (const secret of ["page", attempt.browser])
    expect(Buffer.from(state.split(".").at(-1)!, "base64url").toString("latin1")).not.toContain(secret);
});

it("counts at its origin, for ten minutes, and only as it was made", () => {
  const state = states.make(attempt);
  expect(states.open(state, "https://b.agents.example.com")).toBeNull();
  const changed = `${state.slice(0, 40)}${state[40] === "A" ? "B" : "A"}${state.slice(41)}`;
  expect(states.open(changed, origin)).toBeNull();
  expect(states.open("", origin)).toBeNull();
  const foreign = new EntryStates({
    secretBox: new SecretBox({ currentKey: "the key of somebody else" }),
    clock: { now: () => now },
  });
  expect(states.open(foreign.make(attempt), origin)).toBeNull();
  now = new Date(now.getTime() + entryLifetimeMs - 1);
  expect(states.open(state, origin)).not.toBeNull();
  now = new Date(now.getTime() + 1);
  expect(states.open(state, origin)).toBeNull();
});
