import { describe, expect, it } from "vitest";
import { isChannel, matchesFilter } from "./subscription-filter.ts";

const event = (name: string, ...namespace: string[]) => ({ name, namespace });

describe("channels", () => {
  it("pass only what was asked for", () => {
    expect(matchesFilter(event("values"), { channels: ["values"] })).toBe(true);
    expect(matchesFilter(event("updates"), { channels: ["values"] })).toBe(false);
  });

  it("know requests for input as `input`", () => {
    expect(matchesFilter(event("input.requested"), { channels: ["input"] })).toBe(true);
    expect(matchesFilter(event("input.requested"), { channels: ["lifecycle"] })).toBe(false);
  });

  it("take all custom events as `custom`, and one kind by its name", () => {
    expect(matchesFilter(event("custom:a2a"), { channels: ["custom"] })).toBe(true);
    expect(matchesFilter(event("custom:a2a"), { channels: ["custom:a2a"] })).toBe(true);
    expect(matchesFilter(event("custom:a2a"), { channels: ["custom:other"] })).toBe(false);
    expect(matchesFilter(event("custom"), { channels: ["custom:a2a"] })).toBe(false);
  });

  it.each(["values", "input", "custom", "custom:x"])("%s is one", (name) => {
    expect(isChannel(name)).toBe(true);
  });

  it.each(["", "debug", "custom:", "input.requested"])("%j is none", (name) => {
    expect(isChannel(name)).toBe(false);
  });
});

describe("namespaces", () => {
  const channels = ["values"];

  it("absent or empty mean everywhere", () => {
    expect(matchesFilter(event("values", "a:1", "b:2"), { channels })).toBe(true);
    expect(matchesFilter(event("values", "a:1"), { channels, namespaces: [] })).toBe(true);
  });

  it("are prefixes", () => {
    const filter = { channels, namespaces: [["a:1"]] };
    expect(matchesFilter(event("values", "a:1", "b:2"), filter)).toBe(true);
    expect(matchesFilter(event("values"), filter)).toBe(false);
    expect(matchesFilter(event("values", "b:2"), filter)).toBe(false);
  });

  it("match a node by its bare name, but a full segment only itself", () => {
    expect(matchesFilter(event("values", "a:1"), { channels, namespaces: [["a"]] })).toBe(true);
    expect(matchesFilter(event("values", "a:2"), { channels, namespaces: [["a:1"]] })).toBe(false);
    expect(matchesFilter(event("values", "ab:1"), { channels, namespaces: [["a"]] })).toBe(false);
  });

  it("are alternatives", () => {
    expect(matchesFilter(event("values", "b:1"), { channels, namespaces: [["a"], ["b"]] })).toBe(true);
  });
});

describe("depth", () => {
  const channels = ["values"];

  it("counts below the prefix", () => {
    const filter = { channels, namespaces: [[]], depth: 1 };
    expect(matchesFilter(event("values"), filter)).toBe(true);
    expect(matchesFilter(event("values", "a:1"), filter)).toBe(true);
    expect(matchesFilter(event("values", "a:1", "b:2"), filter)).toBe(false);
    expect(matchesFilter(event("values", "a:1"), { channels, namespaces: [["a"]], depth: 0 })).toBe(true);
  });

  it("means nothing without prefixes", () => {
    expect(matchesFilter(event("values", "a:1", "b:2"), { channels, depth: 0 })).toBe(true);
  });
});
