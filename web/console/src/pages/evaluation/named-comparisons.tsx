import { Link } from "wouter";
import { ShowMore, Table, Time } from "../../ui/index.ts";
import { type NamedComparison, useNamedComparisons } from "./evaluation-api.ts";
import { namedHref } from "./experiment-choice.ts";
import { ScoreBadges } from "./score-badges.tsx";

/** What pairwise evaluations of experiments found; nothing as long as there are none. */
export function NamedComparisons({ datasetId }: { datasetId: string }) {
  const found = useNamedComparisons(datasetId);
  const rows = found.data?.pages.flat() ?? [];
  if (rows.length === 0) return null;
  const href = ({ id }: NamedComparison) => namedHref(datasetId, id);
  return (
    <section aria-labelledby="named-comparisons">
      <h2 id="named-comparisons">Pairwise evaluations</h2>
      <Table
        label="Pairwise evaluations"
        rows={rows}
        rowKey={({ id }) => id}
        href={href}
        columns={[
          {
            key: "name",
            header: "Name",
            grow: true,
            cell: (row) => <Link href={href(row)}>{row.name}</Link>,
          },
          {
            key: "scores",
            header: "Mean scores",
            cell: ({ feedback_stats }) => <ScoreBadges stats={feedback_stats} />,
          },
          {
            key: "experiments",
            header: "Experiments",
            cell: ({ experiments_info }) => experiments_info.map(({ name }) => name).join(", "),
          },
          { key: "made", header: "Made", align: "right", cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
      />
      <ShowMore of={found} />
    </section>
  );
}
