/** As many as the server compares, and as fit beside one another. */
export const mostCompared = 10;

const name = "selectedSessions";

/** The address that the tracing SDK prints too: the first is what the others are compared with. */
export function compareHref(datasetId: string, experimentIds: readonly string[]): string {
  return `/datasets/${datasetId}/compare?${name}=${experimentIds.join(",")}`;
}

const id = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function readChoice(params: URLSearchParams): string[] {
  const given = params.getAll(name).flatMap((text) => text.split(","));
  const ids = given.map((each) => each.trim().toLowerCase()).filter((each) => id.test(each));
  return [...new Set(ids)].slice(0, mostCompared);
}
