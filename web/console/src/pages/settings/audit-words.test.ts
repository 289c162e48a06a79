import { expect, test } from "vitest";
import { auditActions } from "../../../../../src/platform/http/audit/audit-action.ts";
import { auditWords } from "./audit-words.ts";

test("the page knows every action of the server, by the same words", () => {
  expect(auditWords).toEqual(auditActions);
});
