import { EventSourceParserStream } from "eventsource-parser/stream";

export type ServerSentEvent = { event: string; data: string; id: string | null };

/** Reads the events of a `text/event-stream`. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const text = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>);
  for await (const { event, data, id } of text.pipeThrough(new EventSourceParserStream())) {
    yield { event: event ?? "message", data, id: id ?? null };
  }
}
