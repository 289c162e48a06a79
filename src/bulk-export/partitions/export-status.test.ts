import { expect, test } from "vitest";
import { exportStatuses, exportTransitions, isFinished } from "./export-status.ts";

test("what is finished stays as it is", () => {
  for (const status of exportStatuses) {
    expect(isFinished(status)).toBe(exportTransitions[status].length === 0);
    expect(exportTransitions[status].every((next) => exportStatuses.includes(next))).toBe(true);
  }
});
