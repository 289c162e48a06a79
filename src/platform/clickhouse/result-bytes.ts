const marker = "__exception__\r\n";
/** An exception is no longer than this, with what is around it. */
const maxExceptionBytes = 20 * 1024;

/**
 * The bytes of a result whose query may fail after the first of them: the server then puts an exception behind them,
 * with a tag it named in the header. The last bytes are held back until it is known that they are none of it.
 */
export async function* resultBytes(
  stream: AsyncIterable<Buffer>,
  tag: string | undefined,
  failure: (message: string) => Error,
): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  const exception = () => (tag === undefined ? undefined : exceptionIn(held, tag));
  try {
    for await (const chunk of stream) {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      if (held.length <= maxExceptionBytes * 2) continue;
      yield held.subarray(0, held.length - maxExceptionBytes);
      held = held.subarray(held.length - maxExceptionBytes);
    }
  } catch (error) {
    // The server also breaks the connection then.
    const message = exception();
    throw message === undefined ? error : failure(message);
  }
  const message = exception();
  if (message !== undefined) throw failure(message);
  if (held.length > 0) yield held;
}

/** Between the tag behind the first marker and the length before the second one. */
function exceptionIn(end: Buffer, tag: string): string | undefined {
  const text = end.toString("utf8");
  const last = ` ${tag}\r\n${marker}`;
  if (!text.endsWith(last)) return undefined;
  const first = `${marker}${tag}\r\n`;
  const start = text.indexOf(first);
  const body = text.slice(start === -1 ? 0 : start + first.length, text.length - last.length);
  return body.slice(0, body.lastIndexOf("\n")).trim();
}
