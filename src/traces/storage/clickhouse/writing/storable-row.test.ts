import { describe, expect, test } from "vitest";
import { noSum, type UsageSum } from "../../../usage/usage-sum.ts";
import { type StoredRow, withBelow } from "./run-row.ts";
import { checkStorable } from "./storable-row.ts";

const row: StoredRow = {
  ...{
    workspace_id: "w",
    project_id: "p",
    start_time: "2026-01-01 00:00:00.000000",
    id: "the-run",
    trace_id: "t",
  },
  ...{
    parent_run_ids: [],
    is_root: true,
    reference_example: [],
    name: "n",
    run_type: "chain",
    status: "success",
  },
  ...{ ended: [], first_token: [], dotted_order: "d", trace_tier: "t", thread: [], tags: [], metadata: "{}" },
  ...{ terms: [], failure: [], execution_order: 1, posted: true, patched: false, usage: [], below: [] },
  ...{ received_at: "2026-01-01 00:00:00.000000", is_gone: false, present: 0 },
};
const dollars = 10n ** 18n;
const check = (below: UsageSum) => () => checkStorable(withBelow(row, below));

describe("what a row of runs can hold", () => {
  test("all tokens and costs that runs have together, as far as the columns reach", () => {
    expect(check(noSum)).not.toThrow();
    expect(check([9e15, 0, 9e15, 0n, 0n, 99_999n * 10n ** 15n * dollars, 0, 0, 1])).not.toThrow();
    expect(check([1e16, 0, 1e16, 0n, 0n, 0n, 0, 0, 0])).toThrow("the-run");
    expect(check([0, 0, 0, 0n, 0n, 10n ** 20n * dollars, 0, 0, 1])).toThrow("more than twenty digits");
  });
});
