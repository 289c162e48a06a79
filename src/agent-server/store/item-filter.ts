export const comparisons = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"] as const;
export type Comparison = (typeof comparisons)[number];

/** One test of one field of an item's value; an item matches when it passes all of them. */
export type Condition = { field: string; comparison: Comparison; operand: unknown };

export type FilterFault = { path: string[]; message: string };
export type ParsedFilter = { conditions: Condition[] } | { fault: FilterFault };

/** `{"field": value}` asks for equality, `{"field": {"$gt": 3}}` compares. */
export function parseFilter(filter: Record<string, unknown>): ParsedFilter {
  const conditions: Condition[] = [];
  for (const [field, wanted] of Object.entries(filter)) {
    const operators = operatorsOf(wanted);
    if (!operators) {
      conditions.push({ field, comparison: "$eq", operand: wanted });
      continue;
    }
    for (const [name, operand] of operators) {
      const message = operandFault(name, operand);
      if (message) return { fault: { path: [field, name], message } };
      conditions.push({ field, comparison: name as Comparison, operand });
    }
  }
  return { conditions };
}

/** An object whose names all begin with "$" is a set of comparisons; any other is a value to be equal to. */
function operatorsOf(wanted: unknown): [string, unknown][] | null {
  if (typeof wanted !== "object" || wanted === null || Array.isArray(wanted)) return null;
  const entries = Object.entries(wanted);
  return entries.length > 0 && entries.every(([name]) => name.startsWith("$")) ? entries : null;
}

function operandFault(name: string, operand: unknown): string | null {
  switch (name) {
    case "$eq":
    case "$ne":
      return null;
    case "$gt":
    case "$gte":
    case "$lt":
    case "$lte":
      if (typeof operand === "string") return null;
      return typeof operand === "number" ? null : `${name} needs a number or a string`;
    case "$in":
    case "$nin":
      return Array.isArray(operand) ? null : `${name} needs a list of values`;
    default:
      return `${name} is not known; use one of ${comparisons.join(", ")}`;
  }
}
