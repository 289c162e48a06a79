/**
 * The texts of a value that a path names: `$` is the whole value, `a.b` a field, `a[*].b` and `a[-1]` elements,
 * `*` every member, `{a,b.c}` several fields at once. What is no text is written as JSON.
 */
export function textsAt(value: unknown, path: string): string[] {
  if (path === "" || path === "$") return textOf(value);
  return readPath([value], splitPath(path)).flatMap(textOf);
}

type Step =
  | { kind: "field"; name: string }
  | { kind: "every" }
  | { kind: "element"; index: number }
  | { kind: "fields"; paths: string[] };

const stepPattern = /\[([^\]]*)\]|\{([^}]*)\}|([^.[{]+)/g;

function splitPath(path: string): Step[] {
  return [...path.matchAll(stepPattern)].map(([, element, fields, name]): Step => {
    if (element !== undefined) {
      return element === "*" ? { kind: "every" } : { kind: "element", index: Number.parseInt(element, 10) };
    }
    if (fields !== undefined) return { kind: "fields", paths: fields.split(",").map((text) => text.trim()) };
    return name === "*" ? { kind: "every" } : { kind: "field", name: name! };
  });
}

function readPath(values: unknown[], steps: Step[]): unknown[] {
  return steps.reduce((found, step) => found.flatMap((value) => takeStep(value, step)), values);
}

function takeStep(value: unknown, step: Step): unknown[] {
  switch (step.kind) {
    case "field":
      return isObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
    case "every":
      return Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
    case "element":
      return Array.isArray(value) && value.at(step.index) !== undefined ? [value.at(step.index)] : [];
    case "fields":
      return step.paths.flatMap((path) => readPath([value], splitPath(path)));
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string[] {
  if (value === null || value === undefined || value === "") return [];
  return [typeof value === "string" ? value : JSON.stringify(value)];
}

const maxWords = 16;

/** The words of a query, for stores that cannot search by meaning. */
export function wordsOf(query: string): string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words)].slice(0, maxWords);
}
