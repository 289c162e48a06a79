import { allChannels, protocolEvent, type WireEvent } from "./protocol-events.ts";

export type Answer = {
  type: "success" | "error";
  id: number | null;
  result?: Record<string, unknown>;
  error?: string;
  message?: string;
  meta?: { thread_id: string; applied_through_seq: number };
};

/** Sends one command as bytes on the wire, without any client in between. */
export async function sendCommand(
  url: string,
  threadId: string,
  method: string,
  params?: unknown,
): Promise<Answer> {
  const response = await fetch(`${url}/threads/${threadId}/commands`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: 7, method, params }),
  });
  if (response.status !== 200) throw new Error(`${method}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

export type Frame = { event: string; data: unknown; id: string | undefined };

/** Frames of an SSE answer until `enough`; then the connection is closed. Comments are frames named `:`. */
export async function readFrames(
  url: string,
  init: RequestInit,
  enough: (frames: Frame[]) => boolean,
): Promise<Frame[]> {
  const stop = new AbortController();
  const response = await fetch(url, {
    ...init,
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(20_000)]),
  });
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  const frames: Frame[] = [];
  let text = "";
  if (enough(frames)) {
    stop.abort();
    return frames;
  }
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const parts = text.split("\n\n");
      text = parts.pop()!;
      for (const part of parts) frames.push(parseFrame(part));
      if (enough(frames)) return frames;
    }
  } finally {
    stop.abort();
  }
  return frames;
}

function parseFrame(part: string): Frame {
  const fields = new Map(
    part.split("\n").map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
    }),
  );
  const data = fields.get("data");
  return {
    event: fields.get("event") ?? ":",
    data: data === undefined ? undefined : JSON.parse(data),
    id: fields.get("id"),
  };
}

/** Events of a subscription over SSE, each checked against its schema, until `enough`. */
export async function readEvents(
  url: string,
  threadId: string,
  enough: (events: WireEvent[]) => boolean,
  filter: Record<string, unknown> = {},
  path = "stream/events",
): Promise<WireEvent[]> {
  const events: WireEvent[] = [];
  let seen = 0;
  await readFrames(
    `${url}/threads/${threadId}/${path}`,
    {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ channels: allChannels, ...filter }),
    },
    (frames) => {
      for (const frame of frames.slice(seen)) {
        seen += 1;
        if (frame.event === ":") continue;
        const event = protocolEvent.parse(frame.data);
        if (frame.event !== event.method || frame.id !== event.event_id)
          throw new Error(`frame ${frame.event} ${frame.id} carries event ${event.method} ${event.event_id}`);
        events.push(event);
      }
      return enough(events);
    },
  );
  return events;
}
