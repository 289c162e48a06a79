import { useMemo } from "react";
import { useLocation } from "wouter";
import { CopyButton, ErrorState, Page, PageHeader, Skeleton } from "../../ui/index.ts";
import { AddRuns } from "../evaluation/add-runs.tsx";
import { RunDetail } from "./run-detail.tsx";
import type { FullRun, Run } from "./trace.ts";
import { useProject, useRun, useTrace } from "./trace-api.ts";
import { endLostSteps } from "./trace-rows.ts";
import { TraceTree } from "./trace-tree.tsx";

/** One run within its trace: the tree on one side, what the run was given and gave on the other. */
export function RunPage({ id }: { id: string }) {
  const run = useRun(id);
  const trace = useTrace(run.data?.trace_id);
  const project = useProject(run.data?.session_id ?? "");
  const [, navigate] = useLocation();
  const known = useMemo(() => trace.data && endLostSteps(trace.data.runs), [trace.data]);
  if (run.error && !run.data) {
    return (
      <Page title="Run">
        <ErrorState error={run.error} retry={() => run.refetch()} />
      </Page>
    );
  }
  const found = run.data;
  if (!found) {
    return (
      <Page title="Run" width="full">
        <Skeleton lines={1} height="2.2rem" />
        <Skeleton lines={10} height="2rem" />
      </Page>
    );
  }
  const steps = known ?? [found];
  const root = steps.find((step) => !step.parent_run_id) ?? found;
  const name = project.data?.name ?? "Project";
  return (
    <Page title={found.name} width="full">
      <PageHeader
        title={root.name}
        crumbs={[
          { label: "Traces", href: "/traces" },
          { label: name, href: `/traces/${found.session_id}` },
        ]}
        actions={
          <>
            <AddRuns runIds={[found.id]} />
            <CopyButton
              text={() => `${location.origin}${found.app_path}`}
              label="Copy link to this step"
              words="Copy link"
            />
          </>
        }
      />
      {trace.data?.truncated && (
        <p className="muted" role="status">
          This trace has more steps than are shown: the first {steps.length.toLocaleString("en-US")} are here.
        </p>
      )}
      <div className="run-split">
        <section className="run-tree" aria-label="Trace">
          {trace.isPending && !trace.data ? (
            <Skeleton lines={8} height="2rem" />
          ) : (
            <TraceTree
              runs={steps}
              selected={id}
              onSelect={(step) => navigate(`/traces/${found.session_id}/r/${step}`, { replace: true })}
            />
          )}
        </section>
        <section className="run-detail" aria-label="Chosen step" aria-busy={run.isPlaceholderData}>
          <RunDetail run={endedAs(found, steps)} />
        </section>
      </div>
    </Page>
  );
}

/** A step that was lost with its attempt has the end that the tree shows. */
function endedAs(run: FullRun, steps: readonly Run[]): FullRun {
  const step = run.end_time ? undefined : steps.find(({ id }) => id === run.id);
  return step?.end_time ? { ...run, status: step.status, error: step.error, end_time: step.end_time } : run;
}
