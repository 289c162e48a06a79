import type { EventData } from "@langchain/protocol";
import { eventNameOf, methodOf } from "../../platform/streaming-protocol/event-name.ts";
import type { ThreadEvent } from "./thread-event.ts";

/** An event of the streaming protocol before it has a number. */
export type ProtocolEvent = EventData;

/** How an event lies in the log: filters look at `name` and `namespace`, never into `data`. */
export type ProtocolRow = { name: string; namespace: string; data: string };

/** A named custom event is filed under `custom:<name>`, so that a filter need not parse it. */
export function toProtocolRow(event: ProtocolEvent): ProtocolRow {
  const name = eventNameOf(event.method, event.params.data);
  return { name, namespace: event.params.namespace.join("|"), data: JSON.stringify(event.params) };
}

/** The event as a client gets it. Its id is its number, which is unique for the life of the thread. */
export function toWireText(event: Pick<ThreadEvent, "number" | "name" | "data">): string {
  const { number, data } = event;
  return `{"type":"event","event_id":"${number}","seq":${number},"method":"${methodOf(event.name)}","params":${data}}`;
}

export function namespaceOf(event: Pick<ThreadEvent, "namespace">): string[] {
  return event.namespace === "" ? [] : event.namespace.split("|");
}
