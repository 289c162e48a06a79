import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { RefusedPart } from "../wire/refused-part.ts";

const maxDepth = 64;

/** The fields of one message, in order. What is not asked for is passed over; what is of another type is refused. */
export class MessageReader {
  readonly #reader: BinaryReader;
  readonly #depth: number;
  #type: WireType | undefined;
  #number = 0;

  constructor(bytes: Buffer, depth = 0) {
    if (depth > maxDepth) throw new RefusedPart("The message is nested too deeply.");
    this.#reader = new BinaryReader(bytes);
    this.#depth = depth;
  }

  /** The number of the next field; 0 at the end, which no field has. */
  next(): number {
    const reader = this.#reader;
    if (this.#type !== undefined) reader.skip(this.#type, this.#number);
    this.#type = undefined;
    if (reader.pos >= reader.len) return 0;
    [this.#number, this.#type] = reader.tag();
    return this.#number;
  }

  message(): MessageReader {
    return new MessageReader(this.bytes(), this.#depth + 1);
  }

  /** Part of the body, not a copy. */
  bytes(): Buffer {
    this.#take(WireType.LengthDelimited);
    // Of a buffer the library takes a part, which is a buffer too.
    return this.#reader.bytes() as Buffer;
  }

  text(): string {
    return this.bytes().toString("utf8");
  }

  fixed64(): bigint {
    this.#take(WireType.Bit64);
    return BigInt(this.#reader.fixed64());
  }

  double(): number {
    this.#take(WireType.Bit64);
    return this.#reader.double();
  }

  /** May lose digits beyond those a number of JSON can hold. */
  int64(): number {
    this.#take(WireType.Varint);
    return Number(this.#reader.int64());
  }

  #take(type: WireType): void {
    if (this.#type !== type) throw new RefusedPart("The message does not follow the OTLP schema.");
    this.#type = undefined;
  }
}

/** What the library throws of a body that is no protobuf becomes the caller's error. */
export function refusingDamage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Error) || ![Error, RangeError].some((kind) => error.constructor === kind))
      throw error;
    throw new RefusedPart("The message is cut off or not protobuf.", { cause: error });
  }
}
