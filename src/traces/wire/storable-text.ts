/** Text columns refuse NUL, and UTF-8 has no half surrogates. */
export function storable(text: string): string {
  return (text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text).toWellFormed();
}

/** The beginning of it. Cut before it is made whole: the cut may go through a letter. */
export function storableStart(text: string, maxChars: number): string {
  return storable(text.slice(0, maxChars));
}
