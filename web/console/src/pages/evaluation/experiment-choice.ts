/** As many as the server compares, and as fit beside one another. */
export const mostCompared = 10;

const name = "selectedSessions";

type Named = { experiments_info: readonly { id: string }[] };

/** The address that the tracing SDK prints too: the first is what the others are compared with. */
export function compareHref(datasetId: string, experimentIds: readonly string[]): string {
  return `/datasets/${datasetId}/compare?${name}=${experimentIds.join(",")}`;
}

/** The page of a comparison that `evaluate_comparative` of the SDK made; it knows its experiments. */
export function namedHref(datasetId: string, comparisonId: string): string {
  return `/datasets/${datasetId}/compare?comparativeExperiment=${comparisonId}`;
}

const id = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The comparison of a pairwise evaluation, where the address names one. */
export function readNamed(params: URLSearchParams): string | null {
  const given = params.get("comparativeExperiment")?.trim().toLowerCase();
  return given && id.test(given) ? given : null;
}

/** The experiments that are shown: those that are chosen, else those of the comparison. */
export function chosenOf(chosen: readonly string[], named: Named | undefined): readonly string[] {
  if (chosen.length > 0 || !named) return chosen;
  return named.experiments_info.map((each) => each.id).slice(0, mostCompared);
}

/** Scores are those of the comparison while only experiments that it compares are shown. */
export function isWithin(ids: readonly string[], named: Named | undefined): named is Named {
  return named !== undefined && ids.every((id) => named.experiments_info.some((each) => each.id === id));
}

export function readChoice(params: URLSearchParams): string[] {
  const given = params.getAll(name).flatMap((text) => text.split(","));
  const ids = given.map((each) => each.trim().toLowerCase()).filter((each) => id.test(each));
  return [...new Set(ids)].slice(0, mostCompared);
}
