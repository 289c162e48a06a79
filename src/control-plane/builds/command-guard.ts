/** Why a command may not be run, or null. Chaining with `&&` is the one piece of shell that is permitted. */
export function commandProblem(command: string): string | null {
  if (command.trim() === "") return "must not be empty";
  if (command.length > 2_000) return "must not be longer than 2000 characters";
  const found = /["`\\\n\r\t|;$<>\0]/.exec(command);
  if (found) {
    const shown = JSON.stringify(found[0]).slice(1, -1);
    return `must not contain ${shown}; put longer steps into a script of the repository and call that`;
  }
  if (/&/.test(command.replaceAll("&&", ""))) return "must not contain a single &; use && to chain commands";
  return null;
}

/** `a b && c` as argument lists: no shell reads it, so no character in it has a special meaning. */
export function splitCommand(command: string): string[][] {
  return command
    .split("&&")
    .map((part) => splitWords(part.trim()))
    .filter((words) => words.length > 0);
}

/** Single quotes group words; there is no other quoting. */
function splitWords(text: string): string[] {
  const words: string[] = [];
  for (const match of text.matchAll(/(?:'[^']*'|[^\s'])+/g)) words.push(match[0].replaceAll("'", ""));
  return words;
}
