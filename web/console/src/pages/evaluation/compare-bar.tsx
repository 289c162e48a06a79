import type { ScoreComparison } from "../../api/wire.ts";
import { Select } from "../../ui/index.ts";
import type { Shown } from "./compare-page.tsx";
import { useExperiments } from "./evaluation-api.ts";
import { mostCompared } from "./experiment-choice.ts";

/** Which examples are shown, and one more experiment to compare with. */
export function CompareBar({
  datasetId,
  ids,
  shown,
  comparison,
  onShow,
  onChoose,
}: {
  datasetId: string;
  ids: readonly string[];
  shown: Shown;
  comparison: ScoreComparison | undefined;
  onShow(shown: Shown): void;
  onChoose(ids: readonly string[]): void;
}) {
  const others =
    useExperiments(datasetId)
      .data?.pages.flat()
      .filter(({ id }) => !ids.includes(id)) ?? [];
  const chip = (what: Shown, words: string) => (
    <button type="button" className="chip" aria-pressed={shown === what} onClick={() => onShow(what)}>
      {words}
    </button>
  );
  return (
    <div className="row compare-bar">
      {comparison && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend
        <div className="chips" role="group" aria-label="Examples shown">
          {chip("all", "All examples")}
          {chip("worse", `Only regressions (${comparison.worse.count})`)}
          {chip("better", `Only improvements (${comparison.better.count})`)}
        </div>
      )}
      {others.length > 0 && ids.length < mostCompared && (
        <Select
          aria-label="Compare with another experiment"
          className="compare-add"
          value=""
          onChange={(event) => onChoose([...ids, event.target.value])}
          options={[
            { value: "", label: "Compare with…" },
            ...others.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
      )}
    </div>
  );
}
