import { ListFilter } from "lucide-react";
import { lazy, Suspense, useCallback, useMemo } from "react";
import { useSearchParams } from "wouter";
import { ApiError } from "../../api/client.ts";
import {
  Button,
  EmptyState,
  ErrorState,
  formatCount,
  formatDuration,
  formatMoney,
  ListState,
  Page,
  PageHeader,
  Select,
  Skeleton,
  Tabs,
} from "../../ui/index.ts";
import { ColumnChoice } from "./column-choice.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { useKeptColumns } from "./kept-columns.ts";
import { defaultRange, ranges } from "./range.ts";
import { type ColumnId, readColumns, readSort, type Sort, writeSort } from "./run-columns.ts";
import { RunSelection } from "./run-selection.tsx";
import { RunTable } from "./run-table.tsx";
import { viewOfAddress } from "./saved-view-address.ts";
import { SavedViews } from "./saved-views.tsx";
import { useProject, useSeenValues, useStats } from "./trace-api.ts";
import { type RunsQuestion, useRuns } from "./use-runs.ts";

const Charts = lazy(() => import("./charts.tsx"));

const slowFilter = 'gt(latency, "5s")';

export function ProjectPage({ id }: { id: string }) {
  const project = useProject(id);
  const view = useView(id);
  if (project.error && !project.data) {
    return (
      <Page title="Project">
        <ErrorState error={project.error} retry={() => project.refetch()} />
      </Page>
    );
  }
  const name = project.data?.name ?? "…";
  return (
    <Page title={name} width="full">
      <PageHeader
        title={name}
        crumbs={[{ label: "Traces", href: "/traces" }]}
        description={project.data?.description}
        actions={
          <Select
            aria-label="Time"
            className="range"
            value={view.range}
            onChange={(event) =>
              view.set({ range: event.target.value === defaultRange ? null : event.target.value })
            }
            options={Object.entries(ranges).map(([value, { label }]) => ({ value, label }))}
          />
        }
      />
      <Figures id={id} view={view} />
      <Tabs
        label="Views of the project"
        current={view.tab}
        tabs={[
          { id: "runs", label: "Runs", href: view.href({ tab: null }) },
          { id: "charts", label: "Charts", href: view.href({ tab: "charts" }) },
        ]}
      />
      <Filters id={id} view={view} />
      {view.tab === "charts" ? (
        <Suspense fallback={<Skeleton lines={2} height="12rem" />}>
          <Charts
            projectId={id}
            lastMs={view.asked.lastMs}
            bucket={view.bucket}
            isRoot={view.asked.roots}
            filter={view.statsFilter}
          />
        </Suspense>
      ) : (
        <Runs view={view} />
      )}
    </Page>
  );
}

type View = ReturnType<typeof useView>;
type Change = Record<string, string | null>;

/** Everything that is chosen is in the address. */
function useView(id: string) {
  const [params, setParams] = useSearchParams();
  const range = ranges[params.get("range") ?? ""] ? params.get("range")! : defaultRange;
  const filter = params.get("filter") ?? "";
  const roots = params.get("all") !== "1";
  const errors = params.get("errors") === "1";
  const slow = params.get("slow") === "1";
  const { lastMs, bucket } = ranges[range]!;
  const whole = [filter, slow ? slowFilter : ""].filter((part) => part !== "");
  const joined = whole.length < 2 ? (whole[0] ?? "") : `and(${whole.join(", ")})`;
  const [kept, keepColumns] = useKeptColumns();
  const named = params.get("columns");
  const columns = useMemo(() => (named === null ? kept : readColumns(named)), [named, kept]);
  const sortText = params.get("sort");
  const sort = useMemo(() => readSort(sortText), [sortText]);
  const withFeedback = columns.includes("feedback");
  const asked: RunsQuestion = useMemo(
    () => ({ projectId: id, filter: joined, roots, errors, lastMs, sort, withFeedback }),
    [id, joined, roots, errors, lastMs, sort, withFeedback],
  );
  const withErrors = errors ? ['eq(status, "error")', ...whole] : whole;
  const changed = (change: Change) => {
    const next = new URLSearchParams(params);
    for (const [name, value] of Object.entries(change)) {
      if (value === null || value === "") next.delete(name);
      else next.set(name, value);
    }
    return next;
  };
  return {
    asked,
    range,
    bucket,
    filter,
    slow,
    statsFilter: withErrors.length < 2 ? withErrors[0] : `and(${withErrors.join(", ")})`,
    tab: params.get("tab") === "charts" ? "charts" : "runs",
    isNarrowed: joined !== "" || errors,
    columns,
    saved: (name: string) => viewOfAddress(params, columns, name),
    /** Kept for the person; an address that named others no longer does. */
    setColumns: (chosen: readonly ColumnId[]) => {
      keepColumns(chosen);
      setParams(changed({ columns: null }));
    },
    sort: (next: Sort) => setParams(changed({ sort: writeSort(next) })),
    set: (change: Change) => setParams(changed(change)),
    href: (change: Change) => {
      const text = changed(change).toString();
      return `/traces/${id}${text === "" ? "" : `?${text}`}`;
    },
  };
}

function Filters({ id, view }: { id: string; view: View }) {
  const seen = useSeenValues(id);
  const toggle = (name: string, on: boolean) => () => view.set({ [name]: on ? null : "1" });
  return (
    <div className="filters">
      <FilterBar value={view.filter} seen={seen.data} onApply={(filter) => view.set({ filter })} />
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend */}
      <div className="chips" role="group" aria-label="Quick filters">
        <Chip on={view.asked.roots} onClick={() => view.set({ all: view.asked.roots ? "1" : null })}>
          Whole traces
        </Chip>
        <Chip on={view.asked.errors} onClick={toggle("errors", view.asked.errors)}>
          Errors
        </Chip>
        <Chip on={view.slow} onClick={toggle("slow", view.slow)}>
          Slower than 5 s
        </Chip>
        {view.tab === "runs" && <ColumnChoice columns={view.columns} onChange={view.setColumns} />}
        <SavedViews projectId={id} current={view.saved} />
      </div>
    </div>
  );
}

function Chip({ on, onClick, children }: { on: boolean; onClick(): void; children: string }) {
  return (
    <button type="button" className="chip" aria-pressed={on} onClick={onClick}>
      {children}
    </button>
  );
}

const yearMs = 365 * 86_400_000;

function Figures({ id, view }: { id: string; view: View }) {
  const { data } = useStats(id, {
    bucket: view.bucket,
    lastMs: view.asked.lastMs ?? yearMs,
    isRoot: view.asked.roots || undefined,
    filter: view.statsFilter,
  });
  const total = data?.total;
  const time = (value: number | null | undefined) => (value == null ? "–" : formatDuration(value * 1_000));
  const items = [
    [view.asked.roots ? "Traces" : "Runs", total ? formatCount(total.run_count) : "–"],
    ["Errors", total?.error_rate == null ? "–" : `${(total.error_rate * 100).toFixed(1)} %`],
    ["Median", time(total?.latency_p50)],
    ["p99", time(total?.latency_p99)],
    ["Tokens", total ? formatCount(total.total_tokens) : "–"],
    ["Cost", total?.total_cost == null ? "–" : formatMoney(total.total_cost)],
  ] as const;
  return (
    <dl className="figures" aria-label="In numbers">
      {items.map(([label, value]) => (
        <div key={label} className={label === "Errors" && (total?.error_rate ?? 0) > 0 ? "has-errors" : ""}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Runs({ view }: { view: View }) {
  const found = useRuns(view.asked);
  const { fetchNextPage, hasNextPage, isFetchingNextPage, rows } = found;
  const loadMore = useCallback(() => void fetchNextPage(), [fetchNextPage]);
  // The filter's own fault stands below the field; here is the rest.
  if (found.error instanceof ApiError && found.error.status === 422 && rows.length === 0)
    return <ErrorState error={found.error} title="The runs could not be filtered" />;
  return (
    <ListState
      of={{ ...found, data: rows.length > 0 }}
      rows={found.isPending ? undefined : rows}
      lines={8}
      height="2.3rem"
      empty={
        <EmptyState
          icon={ListFilter}
          title={view.isNarrowed ? "Nothing matches" : "No runs in this time"}
          action={
            <>
              {view.isNarrowed && (
                <Button onClick={() => view.set({ filter: null, errors: null, slow: null })}>
                  Clear the filters
                </Button>
              )}
              {view.range !== "all" && (
                <Button onClick={() => view.set({ range: "all" })}>Show all time</Button>
              )}
            </>
          }
        >
          {view.isNarrowed
            ? "No run in this time matches the filter."
            : `There were none in: ${ranges[view.range]!.label.toLowerCase()}.`}
        </EmptyState>
      }
    >
      {() => (
        <RunSelection rows={rows}>
          <RunTable
            rows={rows}
            columns={view.columns}
            sort={view.asked.sort}
            onSort={view.sort}
            hasMore={hasNextPage}
            isLoadingMore={isFetchingNextPage}
            loadMore={loadMore}
          />
        </RunSelection>
      )}
    </ListState>
  );
}
