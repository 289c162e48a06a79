import { RefusedPart } from "../wire/refused-part.ts";

/** One field of a message: its number, and the value by its wire type. */
export type ProtobufField = { number: number; value: bigint | Buffer };

const maxDepth = 64;

/** The fields of a message in order. Fixed and variable numbers are unsigned; the schema knows more. */
export function* readFields(bytes: Buffer, depth = 0): Generator<ProtobufField> {
  if (depth > maxDepth) throw new RefusedPart("The message is nested too deeply.");
  let position = 0;
  const varint = (): bigint => {
    let result = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[position++];
      if (byte === undefined) throw cut();
      result |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, result);
    }
    throw new RefusedPart("The message holds a number that is too long.");
  };
  const take = (length: number): Buffer => {
    if (position + length > bytes.length) throw cut();
    position += length;
    return bytes.subarray(position - length, position);
  };
  while (position < bytes.length) {
    const key = varint();
    const number = Number(key >> 3n);
    switch (Number(key & 7n)) {
      case 0:
        yield { number, value: varint() };
        break;
      case 1:
        yield { number, value: take(8).readBigUInt64LE() };
        break;
      case 2:
        yield { number, value: take(Number(varint())) };
        break;
      case 5:
        yield { number, value: BigInt(take(4).readUInt32LE()) };
        break;
      default:
        throw new RefusedPart("The body is not a protobuf message.");
    }
  }
}

function cut(): RefusedPart {
  return new RefusedPart("The message is cut off or not protobuf.");
}
