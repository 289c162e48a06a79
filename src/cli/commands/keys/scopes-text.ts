/** What a key is limited to, in a word or two. */
export function scopesText(key: {
  scopes?: readonly string[] | null | undefined;
  tracing_project?: string | null | undefined;
}): string {
  if (!key.scopes) return "all";
  const named = key.scopes.join(",");
  return key.tracing_project ? `${named} of ${key.tracing_project}` : named;
}
