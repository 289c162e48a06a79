/**
 * esbuild's `keepNames` sets the name of every function when it is made: a call for each closure, 2 to 4 % of the
 * processor time of a run. Most would have that name anyway: declared functions that kept theirs, and functions that are
 * assigned to their name. Those calls are taken out, line by line, as esbuild prints them; the number of lines stays,
 * for source maps. Classes and renamed functions keep theirs.
 */
export function naturalNames(code: string): string {
  const lines = code.split("\n");
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]!;
    if (!line.includes("__name(")) continue;
    if (namedByDeclaration.test(line)) lines[index] = "";
    else unwrap(lines, index);
  }
  return lines.join("\n");
}

const namedByDeclaration = /^\s*__name\((\w+), "\1"\);$/;
/** `const name = …`, `name = …` as a field or an assignment, `name: …` in an object. */
const namedByPlace =
  /^(?<indent>\s*)(?<place>(?:(?:export )?(?:const|let|var|static) )?(?<name>#?[\w$]+)(?: =|:) )\/\* @__PURE__ \*\/ __name\((?<rest>.*)$/;

function unwrap(lines: string[], index: number): void {
  const found = namedByPlace.exec(lines[index]!)?.groups;
  if (!found) return;
  const { indent, place, name, rest } = found as Record<"indent" | "place" | "name" | "rest", string>;
  const isFunction = /^(?:async )?(?:function\b|\(|[\w$]+ =>)/.test(rest);
  // More than one on a line: which end belongs to which is not looked into.
  if (!isFunction || rest.includes("__name(")) return;
  const end = `, ${JSON.stringify(name)})`;
  const opened = `${indent}${place}`;
  if (/(?:=>|\)) \{$/.test(rest)) {
    // What is within stands further in, so the first that begins like this is its end.
    const last = lines.findIndex((line, at) => at > index && line.startsWith(`${indent}}`));
    const closing = `${indent}}${end}`;
    if (!lines[last]?.startsWith(closing)) return;
    lines[index] = opened + rest;
    lines[last] = `${indent}}${lines[last].slice(closing.length)}`;
    return;
  }
  const cut = rest.lastIndexOf(end);
  if (cut === -1 || !/^[;,]?$/.test(rest.slice(cut + end.length))) return;
  lines[index] = opened + rest.slice(0, cut) + rest.slice(cut + end.length);
}
