import type { Deployment, Revision } from "../deployments/deployment-api.ts";
import type { BulkExport, TraceRun } from "./overview-api.ts";

export type Activity = {
  key: string;
  at: string;
  kind: string;
  title: string;
  note: string | null;
  status: string;
  href: string;
};

type Given = {
  deployments: readonly Deployment[];
  latest: ReadonlyMap<string, Revision>;
  failures: readonly TraceRun[];
  exports: readonly BulkExport[];
};

const shown = 10;

/** What happened lately, newest first: revisions, failed runs and exports in one list. Pure. */
export function recentActivity({ deployments, latest, failures, exports }: Given): Activity[] {
  const revisions = deployments.flatMap((deployment): Activity[] => {
    const revision = latest.get(deployment.id);
    if (!revision && deployment.active_revision_id === null) return [];
    return [
      {
        key: `revision ${deployment.id}`,
        at: revision?.updated_at ?? deployment.health.since ?? deployment.updated_at,
        kind: "Deployment",
        title: deployment.display_name ?? deployment.name,
        note: revision ? noteOf(revision) : "serves its latest revision",
        status: revision?.status ?? "DEPLOYED",
        href: revision
          ? `/deployments/${deployment.id}/revisions/${revision.id}`
          : `/deployments/${deployment.id}`,
      },
    ];
  });
  const failed = failures.map((run): Activity => {
    return {
      key: `run ${run.id}`,
      at: run.end_time ?? run.start_time,
      kind: "Run",
      title: run.name,
      note: firstLine(run.error ?? null),
      status: run.status,
      href: run.app_path,
    };
  });
  const exported = exports.map((each): Activity => {
    return {
      key: `export ${each.id}`,
      at: each.updated_at,
      kind: "Export",
      title: each.interval_hours === null ? "Once" : `Every ${each.interval_hours} h`,
      note: firstLine(each.error) ?? `${each.progress.rows_written.toLocaleString("en-US")} rows`,
      status: each.status,
      href: `/exports/${each.id}`,
    };
  });
  return [...revisions, ...failed, ...exported].sort((a, b) => b.at.localeCompare(a.at)).slice(0, shown);
}

function firstLine(text: string | null): string | null {
  const line = text?.split("\n")[0]?.trim();
  return line ? line.slice(0, 200) : null;
}

/** A failure in the project's own words. */
const noteOf = ({ failure, status_message }: Revision) => firstLine(failure?.reason ?? status_message);
