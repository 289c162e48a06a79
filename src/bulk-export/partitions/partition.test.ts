import { describe, expect, test } from "vitest";
import { parseMicros } from "../../platform/exact-time.ts";
import { dayText, partitionFolder, planDays } from "./partition.ts";

const window = (from: string, to: string) => ({ from: parseMicros(from)!, to: parseMicros(to)! });

describe("planDays", () => {
  test("cuts at UTC midnight and keeps the ends of the window", () => {
    const partitions = planDays(
      window("2024-02-28T22:00:00Z", "2024-03-01T00:00:00.000001Z"),
      new Set(["2024-02-29"]),
      1,
    );
    expect(partitions.map((partition) => [dayText(partition.from), partition.empty])).toEqual([
      ["2024-02-28", true],
      ["2024-02-29", false],
      ["2024-03-01", true],
    ]);
  });

  test("a window that ends at midnight has no partition for the next day", () => {
    expect(planDays(window("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"), new Set(), 1)).toHaveLength(1);
  });

  test.each([1, 400])("tiles any window without gap or overlap, for %i projects", (projects) => {
    const whole = window("1999-12-31T23:59:59.999999Z", "2026-07-01T12:34:56Z");
    const days = new Set(["1999-12-31", "2000-01-01", "2010-05-05", "2010-05-06", "2026-07-01"]);
    const partitions = planDays(whole, days, projects);
    expect(partitions[0]!.from).toBe(whole.from);
    expect(partitions.at(-1)!.to).toBe(whole.to);
    for (const [index, partition] of partitions.entries()) {
      expect(partition.from).toBeLessThan(partition.to);
      if (index > 0) expect(partition.from).toBe(partitions[index - 1]!.to);
    }
    const busy = partitions.filter((partition) => !partition.empty);
    expect(busy.map((partition) => dayText(partition.from))).toEqual([...days].sort());
    for (const partition of busy) expect(dayText(partition.to - 1n)).toBe(dayText(partition.from));
  });

  test("makes few partitions of a long empty stretch", () => {
    const partitions = planDays(window("1930-01-01", "2026-01-01"), new Set(["2000-06-01"]), 1);
    expect(partitions.map((partition) => partition.empty)).toEqual([true, false, true]);
  });
});

test("a folder names month and day without padding", () => {
  const input = {
    exportId: "e",
    workspaceId: "t",
    sessionId: "s",
    from: parseMicros("2026-01-02T00:00:00Z")!,
  };
  expect(partitionFolder({ ...input, prefix: "" })).toBe(
    "export_id=e/tenant_id=t/session_id=s/runs/year=2026/month=1/day=2/",
  );
  expect(partitionFolder({ ...input, prefix: "a/b" })).toMatch(/^a\/b\/export_id=e\//);
});
