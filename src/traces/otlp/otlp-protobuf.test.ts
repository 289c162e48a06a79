import { randomBytes } from "node:crypto";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { expect, test } from "vitest";
import { RefusedPart } from "../wire/refused-part.ts";
import { readOtlpProtobuf } from "./otlp-protobuf.ts";

type Write = (writer: BinaryWriter) => BinaryWriter;

function message(write: Write): Uint8Array {
  return write(new BinaryWriter()).finish();
}

const field = (number: number, write: Write) => (writer: BinaryWriter) =>
  writer.tag(number, WireType.LengthDelimited).bytes(message(write));
const text = (number: number, value: string) => (writer: BinaryWriter) =>
  writer.tag(number, WireType.LengthDelimited).string(value);
const all =
  (...writes: Write[]): Write =>
  (writer) =>
    writes.reduce((written, write) => write(written), writer);

const request = (span: Write) => Buffer.from(message(field(1, field(2, field(2, span)))));
const attribute = (key: string, value: Write) => field(9, all(text(1, key), field(2, value)));

test("numbers of every kind, signed and beyond what JSON holds", () => {
  const [span] = readOtlpProtobuf(
    request(
      all(
        (writer) => writer.tag(7, WireType.Bit64).fixed64(2n ** 64n - 1n),
        attribute("negative", (writer) => writer.tag(3, WireType.Varint).int64(-5n)),
        attribute("large", (writer) => writer.tag(3, WireType.Varint).int64(2n ** 53n)),
        attribute("half", (writer) => writer.tag(4, WireType.Bit64).double(0.5)),
        attribute("yes", (writer) => writer.tag(2, WireType.Varint).bool(true)),
        attribute("bytes", (writer) => writer.tag(7, WireType.LengthDelimited).bytes(Buffer.from("é"))),
      ),
    ),
  );
  expect(span?.startNanos).toBe(2n ** 64n - 1n);
  expect(span?.attributes).toEqual({ negative: -5, large: 2 ** 53, half: 0.5, yes: true, bytes: "w6k=" });
});

test("fields that are not known are passed over, whatever their type", () => {
  const strange = all(
    (writer) => writer.tag(100, WireType.Varint).uint64(7n),
    (writer) => writer.tag(101, WireType.Bit32).fixed32(7),
    (writer) => writer.tag(102, WireType.Bit64).fixed64(7n),
    text(103, "later"),
  );
  expect(readOtlpProtobuf(request(all(strange, text(5, "known"), strange)))).toMatchObject([
    { name: "known" },
  ]);
});

test("a known field of another type is refused", () => {
  const number = (writer: BinaryWriter) => writer.tag(5, WireType.Varint).uint32(7);
  expect(() => readOtlpProtobuf(request(number))).toThrow("does not follow the OTLP schema");
  expect(() => readOtlpProtobuf(request(text(7, "noon")))).toThrow("does not follow the OTLP schema");
});

test("values nested too deeply are refused before the stack ends", () => {
  const nested = (levels: number): Write => {
    let bytes = message(text(1, "core"));
    for (let level = 0; level < levels * 2; level++) {
      const inner = bytes;
      bytes = message((writer) => writer.tag(level % 2 === 0 ? 1 : 5, WireType.LengthDelimited).bytes(inner));
    }
    return (writer) => writer.raw(bytes);
  };
  const body = (levels: number) => request(attribute("list", nested(levels)));
  expect(readOtlpProtobuf(body(20))).toHaveLength(1);
  expect(() => readOtlpProtobuf(body(5_000))).toThrow("nested too deeply");
});

test("a body that is cut or damaged anywhere is refused or read, and nothing else", () => {
  const whole = request(all(text(5, "name"), attribute("key", text(1, "value"))));
  for (let end = 1; end < whole.length; end++) {
    expect(() => readOtlpProtobuf(whole.subarray(0, end))).toThrow(RefusedPart);
  }
  for (let round = 0; round < 2_000; round++) {
    const damaged = Buffer.from(whole);
    randomBytes(2).copy(damaged, round % damaged.length);
    try {
      readOtlpProtobuf(damaged);
    } catch (error) {
      expect(error).toBeInstanceOf(RefusedPart);
    }
  }
});
