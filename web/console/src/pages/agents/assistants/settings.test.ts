import { describe, expect, it } from "vitest";
import { settingsBody, settingsOf, settingsTexts } from "./settings.ts";

const schema = { type: "object", properties: { model: { type: "string" }, limit: { type: "integer" } } };
const schemas = (more: object) =>
  ({ graph_id: "g", config_schema: null, context_schema: null, ...more }) as never;

describe("settings of an assistant", () => {
  it("are its context where the graph takes one", () => {
    const settings = settingsOf(schemas({ context_schema: schema }), {
      config: {},
      context: { model: "m", own: 1 },
    });
    expect(settings.place).toBe("context");
    expect(settingsTexts(settings)).toEqual({ model: "m" });
    // What has no field is kept.
    expect(settingsBody(settings, { config: {}, context: {} }, { limit: 3 })).toEqual({
      context: { own: 1, limit: 3 },
    });
  });

  it("are in the config where the graph is older, or where they were put", () => {
    const old = settingsOf(schemas({ config_schema: schema }), { config: {}, context: {} });
    expect(old.place).toBe("configurable");
    const kept = { config: { tags: ["a"], configurable: { model: "m" } }, context: {} };
    const put = settingsOf(schemas({ config_schema: schema, context_schema: schema }), kept);
    expect(put.place).toBe("configurable");
    expect(settingsBody(put, kept, { model: "n" })).toEqual({
      config: { tags: ["a"], configurable: { model: "n" } },
    });
  });

  it("have no fields where the graph declares none", () => {
    expect(settingsOf(undefined, { config: {}, context: {} })).toEqual({
      place: "context",
      fields: [],
      values: {},
    });
  });
});
