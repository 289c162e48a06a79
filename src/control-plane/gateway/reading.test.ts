import { describe, expect, it } from "vitest";
import { onlyReads } from "./reading.ts";

const id = "00000000-0000-4000-8000-000000000000";

describe("what a viewer may send through the gateway", () => {
  it("is what the agent server itself lets viewers post", () => {
    for (const path of [
      "/threads/search",
      "/assistants/count",
      "/runs/crons/search",
      "/store/items/search",
      "/store/namespaces",
      `/threads/${id}/history`,
      `/threads/${id}/state/checkpoint`,
      `/threads/${id}/stream/events`,
      `/assistants/${id}/versions`,
      "/below/a/prefix/threads/search",
    ]) {
      expect([path, onlyReads("POST", path)]).toEqual([path, true]);
    }
    expect(onlyReads("GET", "/anything")).toBe(true);
  });

  it("is no other method of these paths", () => {
    for (const method of ["PUT", "PATCH", "DELETE", "CONNECT"]) {
      expect(onlyReads(method, "/threads/search")).toBe(false);
      expect(onlyReads(method, `/threads/${id}/history`)).toBe(false);
      expect(onlyReads(method, `/threads/${id}/stream`)).toBe(false);
    }
  });

  it("starts no agent whose name is the word for a search", () => {
    for (const name of ["search", "count", "history", "list"]) {
      expect([name, onlyReads("POST", `/a2a/${name}`)]).toEqual([name, false]);
    }
  });

  it("is no route of the project's own, whatever it is called", () => {
    for (const path of [
      "/documents/search",
      "/list",
      "/batch/get",
      "/runs/stream",
      `/threads/${id}/runs/stream`,
    ]) {
      expect([path, onlyReads("POST", path)]).toEqual([path, false]);
    }
  });
});
