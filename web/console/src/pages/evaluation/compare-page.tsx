import { FlaskConical } from "lucide-react";
import { useSearchParams } from "wouter";
import { EmptyState, ErrorState, ListState, Page, PageHeader, ShowMore } from "../../ui/index.ts";
import { CompareBar } from "./compare-bar.tsx";
import { CompareTable } from "./compare-table.tsx";
import {
  useComparedRows,
  useComparison,
  useDataset,
  useExperimentsById,
  useNamedComparison,
} from "./evaluation-api.ts";
import { chosenOf, isWithin, readChoice, readNamed } from "./experiment-choice.ts";

export type Shown = "all" | "worse" | "better";

/** One experiment row by row, or several beside one another; the first is what the others are compared with. */
export function ComparePage({ id }: { id: string }) {
  const [params, setParams] = useSearchParams();
  const wantedId = readNamed(params);
  const found = useNamedComparison(id, wantedId);
  const isKnown = wantedId === null || found.data !== undefined;
  const ids = chosenOf(readChoice(params), found.data ?? undefined);
  const named = isWithin(ids, found.data ?? undefined) ? found.data : null;
  const namedId = named?.id ?? null;
  const dataset = useDataset(id);
  const experiments = useExperimentsById(ids);
  const comparison = useComparison(id, { ids, namedId, isReady: isKnown });
  const wanted = params.get("show");
  const shown: Shown = wanted === "worse" || wanted === "better" ? wanted : "all";
  const only = shown === "all" || ids.length < 2 ? undefined : comparison.data?.[shown].example_ids;
  const isReady = isKnown && (shown === "all" || ids.length < 2 || only !== undefined);
  const rows = useComparedRows(id, { ids, namedId, only, isReady });
  const examples = rows.data?.pages.flatMap(({ items }) => items);
  const inOrder = ids.flatMap((each) => experiments.data?.find((one) => one.id === each) ?? []);
  const title = named
    ? named.name
    : ids.length === 1
      ? (inOrder[0]?.name ?? "Experiment")
      : `Comparison of ${ids.length} experiments`;
  const error = found.error ?? dataset.error ?? experiments.error ?? comparison.error;
  const set = (change: Record<string, string | null>) =>
    setParams((now) => {
      for (const [name, value] of Object.entries(change))
        if (value === null) now.delete(name);
        else now.set(name, value);
      return now;
    });
  if (ids.length === 0 && isKnown)
    return (
      <Page title="Comparison">
        <EmptyState icon={FlaskConical} title="No experiment is chosen">
          Choose experiments of the dataset, then compare them.
        </EmptyState>
      </Page>
    );
  return (
    <Page title={title} width="full">
      <PageHeader
        title={title}
        crumbs={[
          { label: "Datasets", href: "/datasets" },
          { label: dataset.data?.name ?? "Dataset", href: `/datasets/${id}?tab=experiments` },
        ]}
        description={named ? named.description : ids.length === 1 ? inOrder[0]?.description : undefined}
      />
      {error ? (
        <ErrorState error={error} retry={() => comparison.refetch()} />
      ) : (
        <>
          {found.data === null && (
            <p role="note">
              The comparison of this link was deleted. The scores of all evaluations are shown.
            </p>
          )}
          {named && (
            <p className="muted">Scores that other pairwise evaluations gave to these runs are left out.</p>
          )}
          <CompareBar
            datasetId={id}
            ids={ids}
            shown={shown}
            comparison={ids.length > 1 ? comparison.data : undefined}
            onShow={(next) => set({ show: next === "all" ? null : next })}
            onChoose={(next) => set({ selectedSessions: next.join(","), show: null })}
          />
          <ListState
            of={rows}
            rows={examples}
            lines={5}
            height="5rem"
            empty={
              <EmptyState title={shown === "worse" ? "No regressions" : "Nothing to show"}>
                {shown === "worse"
                  ? "No example has a worse score than in the first experiment, and none fails that did not before."
                  : shown === "better"
                    ? "No example has a better score than in the first experiment."
                    : "The dataset has no examples."}
              </EmptyState>
            }
          >
            {(all) => (
              <CompareTable
                datasetId={id}
                examples={all}
                experiments={inOrder}
                comparison={comparison.data}
                onChoose={(next) => set({ selectedSessions: next.join(",") })}
              />
            )}
          </ListState>
          <ShowMore of={rows} />
        </>
      )}
    </Page>
  );
}
