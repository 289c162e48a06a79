export type ServerSentEvent = { event: string; data: string; id: string | null };

/** Reads the frames of a `text/event-stream`. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let pending = "";
  for await (const part of body) {
    pending += decoder.decode(part, { stream: true });
    const frames = pending.split(/\r?\n\r?\n/);
    pending = frames.pop() ?? "";
    for (const frame of frames) {
      const parsed = parseFrame(frame);
      if (parsed !== null) yield parsed;
    }
  }
}

function parseFrame(frame: string): ServerSentEvent | null {
  let event = "message";
  let id: string | null = null;
  const data: string[] = [];
  for (const line of frame.split(/\r?\n/)) {
    const [, field, value = ""] = /^([^:]+)(?::\s?(.*))?$/.exec(line) ?? [];
    if (field === "event") event = value;
    else if (field === "data") data.push(value);
    else if (field === "id") id = value;
  }
  return data.length === 0 ? null : { event, data: data.join("\n"), id };
}
