import { expect, it } from "vitest";
import type { Revision, RevisionEvent } from "../desired-state/revision.ts";
import { mostItems, report } from "../listener-api/listener-wire.ts";
import type { LogRow } from "../logs/log.ts";
import type { ToldInstance } from "./report-source-store.ts";
import { eventWire, instanceWire, lineWire, metricWire, revisionWire } from "./report-wire.ts";

const id = "0190a1b2-0000-7000-8000-000000000001";
const at = new Date("2026-01-02T03:04:05Z");
const long = "x\u{1f600}".repeat(100_000);

const revision = {
  ...{
    id,
    status: "BUILD_FAILED",
    status_message: long,
    condition: null,
    progress: 20,
    uses_own_auth: false,
  },
  failure: { file: long, line: 1, column: 2, reason: long, output: Array(500).fill(long) },
  ...{ repo_commit_sha: long, image_reference: long, image_digest: long },
} as unknown as Revision;
const instance = {
  ...{ id, deployment_id: id, revision_id: id, state: "exited", attempt: 1, tracing_key_id: null },
  ...{ started_at: at, ready_at: null, drain_since: null, stop_since: null, exited_at: at },
  ...{ exit_kind: null, exit_detail: long, has_lost_pods: false },
} as unknown as ToldInstance;
const event = { id: 1, revision_id: id, kind: long, status: null, message: long, created_at: at };
const line: LogRow & { deployment_id: string } = {
  ...{ id: 1, deployment_id: id, revision_id: id, kind: "deploy", at, level: "INFO" },
  ...{ message: long, run_id: long, origin: null },
};

it("a report takes whatever projects have printed, however long", () => {
  const sent = {
    ...{ epoch: 1, number: 1, held: [id], deployments: [], metrics: { until: null, items: [] } },
    revisions: [revisionWire(revision)],
    instances: [instanceWire(instance)],
    events: { after: 0, upto: 1, items: [eventWire(event as RevisionEvent)] },
    logs: { after: 0, upto: 1, items: Array(mostItems).fill(lineWire(line)) },
  };
  expect(report.safeParse(sent).error?.issues ?? []).toEqual([]);
  // Half a character would be refused by the database.
  expect(JSON.stringify(sent)).not.toMatch(/\\ud[89a-f]/);
});

it("takes figures and times that are wrong, as near as it can", () => {
  const metric = {
    deployment_id: id,
    at,
    cpu: -1,
    memory_bytes: 1e300,
    requests: 1,
    errors: 0,
    busy_ms: 1e300,
  };
  const times = [new Date("0001-01-01T00:00:00Z"), new Date(8.64e15)];
  const sent = {
    ...{ epoch: 1, number: 1, held: [], deployments: [], revisions: [], instances: [] },
    events: { after: 0, upto: 0, items: [] },
    logs: { after: 0, upto: 1, items: times.map((wrong) => lineWire({ ...line, at: wrong })) },
    metrics: { until: null, items: [metricWire(metric)] },
  };
  expect(report.safeParse(sent).error?.issues ?? []).toEqual([]);
});
