import { expect, it } from "vitest";
import { modelSettingOf } from "./model-setting.ts";

it("finds the model among an assistant's settings", () => {
  const config_schema = {
    properties: {
      temperature: { type: "number" },
      model_name: { type: "string", description: "Which one.", default: "offline" },
    },
  };
  expect(modelSettingOf({ config_schema })).toEqual({
    name: "model_name",
    description: "Which one.",
    choices: [],
    default: "offline",
  });
});

it("knows the models a schema names, however it does", () => {
  const listed = { properties: { model: { enum: ["a", "b"] } } };
  expect(modelSettingOf({ context_schema: listed })?.choices).toEqual(["a", "b"]);
  const either = { properties: { model: { anyOf: [{ const: "a" }, { enum: ["b"] }, { type: "null" }] } } };
  expect(modelSettingOf({ config_schema: either })?.choices).toEqual(["a", "b"]);
});

it("finds none where there is none", () => {
  expect(modelSettingOf({})).toBeUndefined();
  expect(modelSettingOf({ config_schema: null, context_schema: { properties: {} } })).toBeUndefined();
  expect(modelSettingOf({ config_schema: { properties: { model: { type: "object" } } } })).toBeUndefined();
});
