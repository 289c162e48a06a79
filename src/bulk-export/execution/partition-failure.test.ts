import { expect, test } from "vitest";
import { AppError } from "../../platform/errors.ts";
import { isWorthRetrying } from "./partition-failure.ts";

test("what a user has to fix is not tried again", () => {
  const refused = new AppError({ code: "traces.export_refused", kind: "forbidden", message: "no right" });
  const storage = new AppError({ code: "traces.export_storage", kind: "bad_gateway", message: "away" });
  expect([refused, storage, new Error("any")].map(isWorthRetrying)).toEqual([false, true, true]);
});
