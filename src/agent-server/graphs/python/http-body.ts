import type { CallStream, Incoming } from "./call-stream.ts";

/** A body is sent in pieces of at most this. */
const pieceBytes = 128 * 1024;
const withoutBody = new Set([101, 204, 205, 304]);

/** Sends a body to its end, or until the receiver stops reading. */
export async function sendBody(stream: CallStream, body: ReadableStream<Uint8Array> | null): Promise<void> {
  if (!body) return;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      if (!(await stream.send({}, [chunk.subarray(at, at + pieceBytes)]))) return;
    }
  }
}

/** What the other side sends, read on demand. `onCancel`: the rest is not needed. */
export function receivedBody(
  items: AsyncIterator<Incoming>,
  onCancel: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      const next = await items.next();
      if (next.done) controller.close();
      else if (next.value.segments[0]?.length) controller.enqueue(new Uint8Array(next.value.segments[0]));
      else controller.enqueue(new Uint8Array());
    },
    cancel: onCancel,
  });
}

/** The answer whose head has come; its body follows. */
export function responseOf(
  { meta }: Incoming,
  items: AsyncIterator<Incoming>,
  onCancel: () => void,
): Response {
  const status = Number(meta.status);
  const headers = new Headers(meta.headers as [string, string][]);
  const body = withoutBody.has(status) ? null : receivedBody(items, onCancel);
  return new Response(body, { status, headers });
}
