export const searchKinds = [
  "deployment",
  "assistant",
  "thread",
  "run",
  "project",
  "dataset",
  "experiment",
  "queue",
  "alert",
  "trace",
] as const;
export type SearchKind = (typeof searchKinds)[number];

/** Something that was found, and the page of the console that shows it. */
export type Found = { kind: SearchKind; id: string; title: string; detail: string; path: string };

/** What a user searches for: words, and a whole id or the beginning of one. */
export type Wanted = {
  workspaceId: string;
  words: string;
  /** The first and the last id that begin so. */
  ids: { from: string; to: string } | null;
  limit: number;
};

/** Each area finds its own things, few and quickly, however many there are. */
export type Finder = (wanted: Wanted) => Promise<Found[]>;

const fewestIdDigits = 6;

/** Six or more hexadecimal digits, with or without hyphens, are the beginning of an id. */
export function idRange(text: string): { from: string; to: string } | null {
  const digits = text.trim().toLowerCase().replaceAll("-", "");
  if (!/^[0-9a-f]+$/.test(digits) || digits.length < fewestIdDigits || digits.length > 32) return null;
  return { from: asUuid(digits.padEnd(32, "0")), to: asUuid(digits.padEnd(32, "f")) };
}

function asUuid(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
