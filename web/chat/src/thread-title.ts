const maxLength = 60;

/** A few words for the list: the beginning of what was said first, without marks, cut between words. */
export function titleOf(content: unknown): string {
  const [line = ""] = textOf(content)
    .replace(/```[\s\S]*?(```|$)/g, " ")
    .split(/\n/)
    .map(plain)
    .filter((part) => part !== "");
  if (line.length <= maxLength) return line;
  const [sentence = ""] = /^.{12,60}?[.?!](?=\s)/u.exec(line) ?? [];
  if (sentence !== "") return sentence;
  const cut = line.slice(0, maxLength);
  const space = cut.lastIndexOf(" ");
  const end = space > maxLength / 2 ? cut.slice(0, space) : [...cut].slice(0, -1).join("");
  return `${end.replace(/[\s,;:.–-]+$/u, "")}…`;
}

function plain(line: string): string {
  return line
    .replace(/^\s*(#{1,6}\s|[-*>]\s|\d+\.\s)/, "")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\*\*|__|~~|`+/g, "")
    .replace(/(^|[\s(])[*_](\S(?:[^*_]*\S)?)[*_](?=$|[\s).,:;!?])/g, "$1$2")
    .replace(/\s+/g, " ")
    .trim();
}

type Block = { type?: unknown; text?: unknown };

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as Block[]).map(({ text }) => (typeof text === "string" ? text : "")).join("\n");
}
