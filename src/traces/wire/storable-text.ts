/** Text columns refuse NUL, and UTF-8 has no half surrogates. */
export function storable(text: string): string {
  return (text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text).toWellFormed();
}
