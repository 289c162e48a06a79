/** Inputs as clients may write them, and filters that find them; none finds `{"other": "thing"}`. */
export const oddPayloads: readonly (readonly [inputs: string, filter: string])[] = [
  ['{"k": 1.0}', 'and(eq(input_key, "k"), eq(input_value, 1))'],
  ['{"k": 1e2}', 'eq(input_value, "100")'],
  ['{"k": "\\u0061bc"}', 'like(input_value, "%abc%")'],
  ['{"\\u006bey": 1}', 'eq(input_key, "key")'],
  ['{"k": "caf\\u00e9"}', 'search("CAF\u00e9")'],
  ['{"k": "caf\u00e9"}', 'search("CAF\u00c9")'],
  ['{"k": "line\\nbreak"}', 'like(input_value, "line\\nbreak")'],
  [`{"k": "${"x".repeat(300)}"}`, `and(eq(input_key, "k"), eq(input_value, "${"x".repeat(300)}"))`],
  // Cut between letters, and indexed by halves of them.
  [
    `{"k": "x${"\u{1f642}".repeat(300)}"}`,
    `and(eq(input_key, "k"), eq(input_value, "x${"\u{1f642}".repeat(300)}"))`,
  ],
  [`{"k": "x${"\u{1f642}".repeat(300)}"}`, `in(input_value, ["x${"\u{1f642}".repeat(260)}", "y"])`],
  [`{"${"a.".repeat(40)}k": 1}`, `eq(input_key, "${"a.".repeat(40)}k")`],
  ['{"k": "null"}', 'and(eq(input_key, "k"), eq(input_value, "null"))'],
  ['{"a": [{"b": [[1, {"c": {"d": "deep"}}]]}]}', 'and(eq(input_key, "a.b.c.d"), eq(input_value, "deep"))'],
  ['{"a": [10, {"b": 1}]}', 'exists(inputs, "a.1.b")'],
];
