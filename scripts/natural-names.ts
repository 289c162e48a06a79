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

/** Nothing else may follow on the line: it could be another use of the same name. */
const endsThere = /^[;,]?$/;

function unwrap(lines: string[], index: number): void {
  const found = namedByPlace.exec(lines[index]!)?.groups;
  if (!found) return;
  const { indent, place, name, rest } = found as Record<"indent" | "place" | "name" | "rest", string>;
  // One with a name of its own would be called that, and esbuild may have changed it.
  const isNameless = /^(?:async )?(?:function\*? ?\(|\(|[\w$]+ =>)/.test(rest);
  // More than one on a line: which end belongs to which is not looked into.
  if (!isNameless || rest.includes("__name(")) return;
  const end = `, ${JSON.stringify(name)})`;
  const opened = `${indent}${place}`;
  if (/(?:=>|\)) \{$/.test(rest)) {
    // What is within stands further in, so the first that begins like this is its end.
    let last = index + 1;
    while (last < lines.length && !lines[last]!.startsWith(`${indent}}`)) last += 1;
    const closing = `${indent}}${end}`;
    const lastLine = lines[last] ?? "";
    const after = lastLine.slice(closing.length);
    if (!lastLine.startsWith(closing) || !endsThere.test(after)) return;
    lines[index] = opened + rest;
    lines[last] = `${indent}}${after}`;
    return;
  }
  const cut = rest.indexOf(end);
  if (cut === -1 || !endsThere.test(rest.slice(cut + end.length))) return;
  lines[index] = opened + rest.slice(0, cut) + rest.slice(cut + end.length);
}
