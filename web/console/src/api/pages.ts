/** What all loaded pages of a list hold, one after another; undefined as long as there is none. */
export function resourcesOf<Resource>(
  list: { pages: readonly { resources: Resource[] }[] } | undefined,
): Resource[] | undefined {
  return list?.pages.flatMap(({ resources }) => resources);
}
