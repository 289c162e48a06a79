import { isSame } from "./state-diff.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * What to send so that a state becomes the edited one: the fields that changed. A list of messages is joined by the graph,
 * not replaced: there only the changed ones are sent, and those that are gone as orders to remove them.
 */
export function updateOf(before: Fields, edited: Fields): Record<string, unknown> {
  const changed = Object.entries(edited).filter(([name, value]) => !isSame(before[name], value));
  const gone = Object.keys(before).filter((name) => !(name in edited));
  return Object.fromEntries([
    ...changed.map(([name, value]) => [
      name,
      isMessages(before[name]) && isMessages(value) ? messageUpdate(before[name], value) : value,
    ]),
    ...gone.map((name) => [name, isMessages(before[name]) ? messageUpdate(before[name], []) : null]),
  ]);
}

type Message = { id: string; type: string; content: unknown };

function messageUpdate(before: readonly Message[], edited: readonly Message[]): unknown[] {
  const known = new Map(before.map((message) => [message.id, message]));
  const kept = new Set(edited.map(({ id }) => id));
  return [
    ...before.filter(({ id }) => !kept.has(id)).map(({ id }) => ({ type: "remove", id, content: "" })),
    ...edited.filter((message) => !isSame(known.get(message.id), message)),
  ];
}

/** A new message may have no id yet; those of a state have. */
function isMessages(value: unknown): value is Message[] {
  return (
    Array.isArray(value) &&
    value.every(
      (item) =>
        item !== null && typeof item === "object" && "content" in item && ("type" in item || "role" in item),
    )
  );
}
