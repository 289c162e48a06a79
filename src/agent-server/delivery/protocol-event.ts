import type { EventData } from "@langchain/protocol";
import type { ThreadEvent } from "./thread-event.ts";

/** An event of the streaming protocol before it has a number. */
export type ProtocolEvent = EventData;

/** How an event lies in the log: filters look at `name` and `namespace`, never into `data`. */
export type ProtocolRow = { name: string; namespace: string; data: string };

const customPrefix = "custom:";

/** A named custom event is filed under `custom:<name>`, so that a filter need not parse it. */
export function toProtocolRow(event: ProtocolEvent): ProtocolRow {
  const name = event.method === "custom" ? customRowName(event.params.data.name) : event.method;
  return { name, namespace: event.params.namespace.join("|"), data: JSON.stringify(event.params) };
}

function customRowName(name: unknown): string {
  return typeof name === "string" && name !== "" ? `${customPrefix}${name}` : "custom";
}

/** The event as a client gets it. Its id is its number, which is unique for the life of the thread. */
export function toWireText(event: Pick<ThreadEvent, "number" | "name" | "data">): string {
  const { number, data } = event;
  return `{"type":"event","event_id":"${number}","seq":${number},"method":"${methodOf(event.name)}","params":${data}}`;
}

export function methodOf(rowName: string): string {
  return rowName.startsWith(customPrefix) ? "custom" : rowName;
}

export function namespaceOf(event: Pick<ThreadEvent, "namespace">): string[] {
  return event.namespace === "" ? [] : event.namespace.split("|");
}

/** The node of a namespace segment `node:task-id`. */
export function nameOf(segment: string): string {
  const colon = segment.indexOf(":");
  return colon === -1 ? segment : segment.slice(0, colon);
}
