/** `3.11.7` as numbers. */
export type PythonVersion = readonly [number, number, number];

/** The oldest that the graph library and our side of it run on. */
export const oldestPython: PythonVersion = [3, 10, 0];

/** `3.12` and `3.12.4`, as people write them in `python_version` and `.python-version`. */
export function parsePythonVersion(text: string): PythonVersion | null {
  const match = /^(?:cpython[-@])?(\d+)\.(\d+)(?:\.(\d+))?$/i.exec(text.trim());
  return match ? [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)] : null;
}

export function minorOf([major, minor]: PythonVersion): string {
  return `${major}.${minor}`;
}

/** Below 0: `one` is older. */
export function compareVersions(one: PythonVersion, other: PythonVersion): number {
  return one[0] - other[0] || one[1] - other[1] || one[2] - other[2];
}

/**
 * Whether a version is in `>=3.10,<3.14`, as `requires-python` writes it. What cannot be read excludes nothing: the
 * installer reads it again, with words of its own.
 */
export function isInRange(version: PythonVersion, range: string): boolean {
  return range.split(",").every((part) => isInPart(version, part.trim()));
}

function isInPart(version: PythonVersion, part: string): boolean {
  const match = /^(>=|<=|==|!=|~=|>|<|\^)\s*(\d+(?:\.\d+)*)(\.\*)?$/.exec(part);
  if (!match) return true;
  const [, sign, digits, wild] = match;
  const numbers = digits!.split(".").map(Number);
  const given: PythonVersion = [numbers[0]!, numbers[1] ?? 0, numbers[2] ?? 0];
  const order = compareVersions(version, given);
  const begins = (count: number) => numbers.slice(0, count).every((number, at) => version[at] === number);
  switch (sign) {
    case ">=":
      return order >= 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case "<":
      return order < 0;
    case "==":
      return wild ? begins(numbers.length) : order === 0;
    case "!=":
      return wild ? !begins(numbers.length) : order !== 0;
    case "~=":
      return order >= 0 && begins(numbers.length - 1);
    default:
      return order >= 0 && begins(1);
  }
}
