/** What is wrong with the values of a form, by field. */
export type Problems<Values> = { [Name in keyof Values]?: string | null | undefined };

export function hasProblem<Values>(problems: Problems<Values>): boolean {
  return Object.values(problems).some(Boolean);
}

/** What is complained about at a field: what was typed, once it may be judged, else what the server refused. */
export function shownProblem<Values>(
  name: keyof Values,
  {
    problems,
    judged,
    refused,
  }: { problems: Problems<Values>; judged: ReadonlySet<keyof Values>; refused: Problems<Values> },
): string | null | undefined {
  return (judged.has(name) ? problems[name] : null) ?? refused[name];
}
