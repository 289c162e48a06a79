import { expect, it } from "vitest";
import { blobFailureCodes } from "../../../../../src/platform/blob/blob-failure-code.ts";
import { fieldOfRefusal } from "./form-rules.ts";

it("every refusal of the storage that somebody can mend in the form has its field", () => {
  const elsewhere = blobFailureCodes.filter((code) => fieldOfRefusal(code) === null);
  expect(elsewhere).toEqual(["blob.refused", "blob.busy"]);
});

it.each([
  ["blob.bad_secret", "secret"],
  ["network.address_refused", "endpoint"],
  ["request.invalid", null],
  [null, null],
])("%s belongs to %s", (code, field) => expect(fieldOfRefusal(code)).toBe(field));
