import type { ReplyDraft } from "./offline-reply.ts";

type ToolWish = NonNullable<ReplyDraft["calls"]>[number];

/** What the person seems to want done, as tool calls; an empty list means a plain answer is best. */
export function readToolWishes(text: string): ToolWish[] {
  const wishes = [weather, time, calculation, research, guardedAction, account, search].flatMap((read) =>
    read(text),
  );
  const names = new Set(wishes.map((wish) => wish.name));
  // "Delete my GitHub account" is about the account, and does not approve using it.
  if (names.has("run_guarded_action")) return wishes.filter((wish) => wish.name !== "get_account");
  // A research request also says "look up" or "find out"; the researcher does its own search.
  return names.has("task") ? wishes.filter((wish) => wish.name !== "search_notes") : wishes;
}

function weather(text: string): ToolWish[] {
  if (!/\b(weather|forecast|temperature)\b/i.test(text)) return [];
  return readPlaces(text).map((city) => ({ name: "get_weather", args: { city } }));
}

function time(text: string): ToolWish[] {
  if (!/\b(what(?:'s| is)? the time|what time|current time|time (?:is it|in))\b/i.test(text)) return [];
  const places = readPlaces(text);
  return (places.length === 0 ? ["UTC"] : places).map((place) => ({ name: "get_time", args: { place } }));
}

function calculation(text: string): ToolWish[] {
  const expression = findExpression(text);
  return expression === undefined ? [] : [{ name: "calculate", args: { expression } }];
}

function research(text: string): ToolWish[] {
  const found =
    /\b(?:research|investigate|deep dive (?:into|on)|(?:write|prepare) a report (?:on|about))\b[:\s]+(.+)/i.exec(
      text,
    );
  const topic = found?.[1] && trimTopic(found[1]);
  if (!topic) return [];
  return topic
    .split(/\s+(?:and then|versus|vs\.?)\s+/i)
    .map((part) => ({ name: "task", args: { subagent_type: "researcher", description: part } }));
}

function guardedAction(text: string): ToolWish[] {
  const found = /\b((?:delete|drop|erase|destroy|deploy|refund|send)\b\s+.+)/i.exec(text);
  const asked = /\b(?:approve|approval)\b/i.test(text) ? text : undefined;
  const action = found?.[1] ?? asked;
  return action ? [{ name: "run_guarded_action", args: { action: trimTopic(action) } }] : [];
}

const service = "([\\p{L}\\p{N}][\\p{L}\\p{N}._-]*(?:\\s+[\\p{L}\\p{N}][\\p{L}\\p{N}._-]*){0,2})";
const accountPhrases = [
  new RegExp(`\\bmy accounts? (?:at|on|with|for|from|in) (?:the )?${service}`, "iu"),
  new RegExp(`\\bmy ${service} account\\b`, "iu"),
  new RegExp(`\\bwho am i (?:at|on|with|in) (?:the )?${service}`, "iu"),
  new RegExp(`\\bconnect (?:me )?(?:to|with) (?:the )?${service}`, "iu"),
];

/** "What is my account at GitHub?", "Use my GitHub account". */
function account(text: string): ToolWish[] {
  const found = accountPhrases.map((phrase) => phrase.exec(text)?.[1]).find((name) => name !== undefined);
  const provider = found && trimTopic(found.replace(/\s+(?:please|now|and|to|for|so|then)\b.*$/iu, ""));
  return provider ? [{ name: "get_account", args: { provider } }] : [];
}

function search(text: string): ToolWish[] {
  const found =
    /\b(?:search(?: for)?|look up|find out about|find information (?:on|about))\b[:\s]+(.+)/i.exec(text);
  const query = found?.[1] && trimTopic(found[1]);
  return query ? [{ name: "search_notes", args: { query } }] : [];
}

/** The longest run of digits and operators that holds a digit on both sides of an operator. */
export function findExpression(text: string): string | undefined {
  const runs = text.match(/[-+]?[\d.(][\d\s.+\-*/^%()×÷]*[\d)]/g) ?? [];
  const sums = runs
    .map((run) => run.replaceAll("×", "*").replaceAll("÷", "/").trim())
    .filter((run) => /[\d)]\s*[-+*/^%]\s*[-+]?[\d(.]/.test(run) && !/^\d{4}-\d{2}(-\d{2})?$/.test(run));
  return sums.sort((left, right) => right.length - left.length)[0];
}

/** "in Paris, Rome and New York" -> three names. */
export function readPlaces(text: string): string[] {
  const found = /\b(?:in|for|at|of)\s+([\p{L}][\p{L}\s,.'/_-]*)/u.exec(text);
  if (!found?.[1]) return [];
  const places = found[1]
    .replace(/\b(?:right now|now|today|tomorrow|tonight|please|this week|like)\b.*$/i, "")
    .split(/\s*,\s*|\s+and\s+/i)
    .map((place) => trimTopic(place).replace(/^the\s+/i, ""))
    .filter((place) => place !== "" && place.length <= 40);
  return [...new Set(places)].slice(0, 4);
}

function trimTopic(text: string): string {
  return text
    .split(/[\n!?;]|\.\s/)[0]!
    .replace(/[\s.,:"'”]+$/, "")
    .replace(/^["'“\s]+/, "")
    .slice(0, 200);
}
