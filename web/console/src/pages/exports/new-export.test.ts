import { describe, expect, it } from "vitest";
import { beginForm, bodyOf, lastDays, previewOf, problemsOf } from "./new-export.ts";

const now = new Date("2026-05-05T10:30:00Z");
const begun = (asked = "") => beginForm(now, new URLSearchParams(asked));
const filled = { ...begun(), project: "p1", destination: "d1" };

it("the last days are whole ones, today among them", () => {
  expect(lastDays(now, 7)).toEqual({ from: "2026-04-29T00:00", to: "2026-05-06T00:00" });
  expect(lastDays(new Date("2026-05-05T00:00:00Z"), 1)).toEqual({
    from: "2026-05-05T00:00",
    to: "2026-05-06T00:00",
  });
});

describe("a form", () => {
  it("begins with what the address asks for", () => {
    const asked = "project=all&from=2026-01-01T00:00:00Z&to=nonsense&filter=eq(is_root%2C%20true)";
    expect(begun(asked)).toMatchObject({
      project: "all",
      from: "2026-01-01T00:00",
      to: "2026-05-06T00:00",
      filter: "eq(is_root, true)",
    });
  });

  it("says what is missing", () => {
    const said = problemsOf({ ...begun(), fields: new Set() });
    expect(Object.keys(said).filter((name) => said[name as keyof typeof said])).toEqual([
      "project",
      "destination",
      "fields",
    ]);
    expect(problemsOf({ ...filled, to: filled.from }).to).toMatch(/after the start/);
    expect(problemsOf({ ...filled, kind: "schedule", to: "", hours: "169" })).toMatchObject({
      to: null,
      hours: expect.stringContaining("168"),
    });
  });

  it("is counted only when it would not be refused", () => {
    expect(previewOf(begun())).toBeNull();
    expect(previewOf({ ...filled, destination: "" })).toEqual({
      session_id: "p1",
      start_time: "2026-04-29T00:00:00Z",
      end_time: "2026-05-06T00:00:00Z",
    });
  });

  it("becomes an export, or a schedule", () => {
    expect(bodyOf({ ...filled, project: "all", filter: " " })).toMatchObject({
      all_experiments: true,
      bulk_export_destination_id: "d1",
      compression: "zstandard",
    });
    const schedule = bodyOf({ ...filled, kind: "schedule", hours: "6" });
    expect(schedule).toMatchObject({ session_id: "p1", interval_hours: 6 });
    expect(schedule).not.toHaveProperty("end_time");
    expect(schedule).not.toHaveProperty("filter");
  });
});
