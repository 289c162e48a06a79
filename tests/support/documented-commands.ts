/** A block of a document that people copy: its language, its text and the line it begins on. */
export type Block = { language: string; text: string; line: number };

export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map((match) => ({
    language: match[1]!,
    text: match[2]!,
    line: markdown.slice(0, match.index).split("\n").length,
  }));
}

/** Commands of a shell block: a line, with those it goes on in (a backslash at the end, an open quote, a brace). */
export function statementsOf(text: string): string[] {
  const statements: string[] = [];
  let open = "";
  for (const line of text.split("\n")) {
    open = open === "" ? line : `${open}\n${line}`;
    const bare = open.replace(/\\./g, "").replace(/"[^"]*"/g, "");
    const isOpen = open.endsWith("\\") || (bare.split("'").length - 1) % 2 === 1;
    if (isOpen) continue;
    const isCommand = open.trim() !== "" && !open.trimStart().startsWith("#");
    if (isCommand) statements.push(open);
    open = "";
  }
  if (open !== "") throw new Error(`A block ends within a command: ${open}`);
  return statements;
}
