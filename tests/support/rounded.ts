/** For comparing what engines added up: they add fractions in another order. */
export function rounded(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, each: unknown) =>
      typeof each === "number" ? Number(each.toPrecision(10)) : each,
    ),
  );
}
