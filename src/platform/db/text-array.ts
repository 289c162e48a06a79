const textType = 25;
const headerBytes = 20;
const lengthBytes = 4;

/**
 * A parameter of type `text[]` in PostgreSQL's binary form. The driver would write an array as one quoted text, in
 * which every quote of a JSON value is escaped here and unescaped there. Buffers are texts in UTF-8 already.
 */
export function textArray(values: readonly (string | Buffer | null)[]): Buffer {
  if (values.length === 0) return emptyArray;
  let bytes = headerBytes;
  let nulls = 0;
  for (const value of values) {
    bytes += lengthBytes;
    if (value === null) nulls = 1;
    else bytes += typeof value === "string" ? Buffer.byteLength(value) : value.length;
  }
  const buffer = Buffer.allocUnsafe(bytes);
  let at = header(buffer, { dimensions: 1, nulls });
  at = buffer.writeInt32BE(values.length, at);
  at = buffer.writeInt32BE(1, at);
  for (const value of values) {
    const length = value === null ? -1 : put(buffer, value, at + lengthBytes);
    buffer.writeInt32BE(length, at);
    at += lengthBytes + Math.max(length, 0);
  }
  return buffer;
}

function put(buffer: Buffer, value: string | Buffer, at: number): number {
  return typeof value === "string" ? buffer.write(value, at) : value.copy(buffer, at);
}

function header(buffer: Buffer, { dimensions, nulls }: { dimensions: number; nulls: number }): number {
  return buffer.writeInt32BE(textType, buffer.writeInt32BE(nulls, buffer.writeInt32BE(dimensions)));
}

const emptyArray = Buffer.alloc(12);
header(emptyArray, { dimensions: 0, nulls: 0 });
