/** What a run failed with, in words: of its stream's `error`, of a task in the state, or of a request that was refused. */
export function failureWords(error: unknown): string {
  if (error instanceof Error) return error.message;
  if (typeof error === "string" && error !== "") return error;
  const { error: kind, name = kind, message, at } = (error ?? {}) as Record<string, unknown>;
  const words = [name, message].filter((part) => typeof part === "string" && part !== "" && part !== "Error");
  const where = typeof at === "string" ? `\n${at}` : "";
  return (words.length > 0 ? words.join(": ") : "The run failed.") + where;
}
