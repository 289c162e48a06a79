import { expect, it } from "vitest";
import type { Deployment, Revision } from "../deployments/deployment-api.ts";
import { recentActivity } from "./activity.ts";
import type { BulkExport, TraceRun } from "./overview-api.ts";

const at = (minute: number) => new Date(Date.UTC(2030, 0, 1, 12, minute)).toISOString();

function deployment(id: string, more: Partial<Deployment> = {}): Deployment {
  const health = { state: "serving", message: null, attempt: 1, since: at(1) };
  return {
    id,
    name: id,
    display_name: null,
    active_revision_id: "r",
    updated_at: at(0),
    health,
    ...more,
  } as Deployment;
}

it("one list of what happened, newest first, each entry leading to its page", () => {
  const failed = {
    id: "rev",
    deployment_id: "broken",
    status: "BUILD_FAILED",
    status_message: "install failed\nlast lines",
    failure: { reason: "the left sleeve is missing" },
    updated_at: at(3),
  } as Revision;
  const run = {
    id: "run",
    name: "checkout",
    status: "error",
    start_time: at(2),
    end_time: null,
    error: "timeout",
    app_path: "/o/x",
  };
  const exported = {
    id: "ex",
    status: "COMPLETED",
    error: null,
    interval_hours: 24,
    progress: { rows_written: 1_234, percentage: 100 },
    updated_at: at(4),
  };
  const list = recentActivity({
    deployments: [
      deployment("fine"),
      deployment("broken", { active_revision_id: null }),
      deployment("new", { active_revision_id: null }),
    ],
    latest: new Map([["broken", failed]]),
    failures: [run as TraceRun],
    exports: [exported as BulkExport],
  });
  expect(list.map(({ title, note, href }) => [title, note, href])).toEqual([
    ["Every 24 h", "1,234 rows", "/exports/ex"],
    ["broken", "the left sleeve is missing", "/deployments/broken/revisions/rev"],
    ["checkout", "timeout", "/o/x"],
    ["fine", "serves its latest revision", "/deployments/fine"],
  ]);
});
