import { expect, it } from "vitest";
import { exportFields } from "../../../../../src/bulk-export/exports/export-fields.ts";
import { defaultFields, everyField, fieldsBody } from "./export-fields.ts";

it("the columns are those of the server", () => {
  expect([...everyField].sort()).toEqual([...exportFields].sort());
});

it("what one gets without asking is not asked for", () => {
  expect(fieldsBody(new Set(defaultFields))).toBeNull();
  expect(fieldsBody(new Set(["id", "name"]))).toEqual(["id", "name"]);
  expect(fieldsBody(new Set(everyField))).toEqual(everyField);
});
