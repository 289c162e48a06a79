/** `X-Pagination-Next` is there only while there is more. */
export function paginationHeaders(
  page: { limit: number; offset: number },
  count: number,
  total: number,
): Record<string, string> {
  const next = page.offset + count;
  return {
    "x-pagination-total": String(total),
    ...(next < total ? { "x-pagination-next": String(next) } : {}),
  };
}
