import type { BinaryRows } from "../../../../platform/clickhouse/clickhouse.ts";
import { RowBinaryWriter } from "../../../../platform/clickhouse/row-binary-writer.ts";
import type { WrittenRow } from "./run-row.ts";

type Write<Value> = (writer: RowBinaryWriter, value: Value) => void;

const costPlaces = 18;
const uuid: Write<string> = (writer, value) => writer.uuid(value);
const text: Write<string> = (writer, value) => writer.text(value);
const time: Write<string> = (writer, value) => writer.time(value);
const bool: Write<boolean> = (writer, value) => writer.bool(value);
const int32: Write<number> = (writer, value) => writer.int32(value);
const int64: Write<number> = (writer, value) => writer.int64(value);
const uint8: Write<number> = (writer, value) => writer.uint8(value);
const cost: Write<string> = (writer, value) => writer.decimal(value, costPlaces);
const payload = nullable<Buffer>((writer, value) => writer.bytes(value));

function nullable<Value>(write: Write<Value>): Write<Value | null | undefined> {
  return (writer, value) => {
    writer.isNull(value == null);
    if (value != null) write(writer, value);
  };
}

function list<Value>(write: Write<Value>): Write<readonly Value[]> {
  return (writer, values) => {
    writer.length(values.length);
    for (const value of values) write(writer, value);
  };
}

/** How each column of `trace_runs` is written: a type of the table's definition each. */
const writers: { [Column in keyof Required<WrittenRow>]: Write<WrittenRow[Column]> } = {
  ...{ workspace_id: uuid, project_id: uuid, start_time: time, id: uuid, trace_id: uuid },
  ...{ parent_run_ids: list(uuid), is_root: bool, reference_example: list(nullable(uuid)) },
  ...{ name: text, run_type: text, status: text, ended: list(nullable(time)) },
  ...{ first_token: list(nullable(time)), dotted_order: text, trace_tier: text },
  ...{ thread: list(nullable(text)), tags: list(text), metadata: text, terms: list(int32) },
  ...{ failure: list(nullable(text)), execution_order: int32, posted: bool, patched: bool },
  ...{ usage: list(nullable(text)), below: list(nullable(text)), received_at: time, is_gone: bool },
  ...{ present: uint8, prompt_tokens: int64, completion_tokens: int64, total_tokens: int64 },
  ...{ costs: list(nullable(cost)), inputs: payload, outputs: payload, extra: payload },
  ...{ events: payload, serialized: payload, error_text: nullable(text) },
};
const columns = Object.keys(writers) as (keyof WrittenRow)[];
const inOrder = columns.map((column) => [column, writers[column] as Write<unknown>] as const);

/** Rows as they are sent: written as text they would cost both sides several times as much. */
export function binaryRows(rows: readonly WrittenRow[]): BinaryRows {
  const writer = new RowBinaryWriter();
  for (const row of rows) for (const [column, write] of inOrder) write(writer, row[column]);
  return { columns, chunks: writer.finish() };
}
