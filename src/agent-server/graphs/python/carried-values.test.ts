import { expect, it } from "vitest";
import type { Payload } from "../../checkpoints/checkpoint.ts";
import type { Meta } from "./call-stream.ts";
import { CarriedValues } from "./carried-values.ts";

const message = (text: string) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", "HumanMessage"],
  kwargs: { content: text, additional_kwargs: {}, response_metadata: {}, id: text.slice(0, 4) },
});
const long = "x".repeat(1_000);
const json = (value: unknown): Payload => ({ type: "json", text: JSON.stringify(value) });
const answer = (meta: Meta, snapshot: object) => ({
  meta,
  segments: [Buffer.from(JSON.stringify({ next: [], config: {}, tasks: [], ...snapshot }))],
});
const wire = (text: string) => ({
  id: text.slice(0, 4),
  type: "human",
  content: text,
  additional_kwargs: {},
  response_metadata: {},
});

it("puts the wire text of a value where its number was", () => {
  const carried = new CarriedValues();
  const shorter = json([message(`one ${long}`)]);
  const longer = json([message(`one ${long}`), message(`two ${long}`)]);
  expect(carried.numberOf("messages", shorter)).toBe(0);
  expect(carried.numberOf("messages", longer)).toBe(1);
  expect(carried.numberOf("messages", shorter)).toBe(0);
  expect(carried.textOf(1)).toBe(longer.text);
  const filled = carried.fill([
    answer({ carried: { messages: 1 } }, { values: { count: 2, messages: null } }),
    answer({ carried: { messages: 0 } }, { values: { count: 1, messages: null } }),
    answer({}, { values: { count: 0 } }),
    answer({ root: 0 }, { values: null }),
  ]);
  const one = wire(`one ${long}`);
  expect(JSON.parse(JSON.stringify(filled.map(({ values }) => values)))).toEqual([
    { count: 2, messages: [one, wire(`two ${long}`)] },
    { count: 1, messages: [one] },
    { count: 0 },
    [one],
  ]);
});

it("gives Python short values, bytes and records that channels know", () => {
  const carried = new CarriedValues();
  expect(carried.numberOf("short", json("short"))).toBeUndefined();
  expect(carried.numberOf("bytes", { type: "bytes", text: long.repeat(2) })).toBeUndefined();
  const set = json({ lc: 2, type: "constructor", id: ["Set"], args: [[long, long]] });
  expect(carried.numberOf("set", set)).toBeUndefined();
});

it("has what a value of Python's own looks like, to the last digit", () => {
  const carried = new CarriedValues();
  const view = `{"number":12345678901234567890,"text":"${long},\\"data\\":\\"\\""}`;
  const payload = { type: "python", text: `{"view":${view},"data":"${"A".repeat(100)}"}` };
  expect(carried.numberOf("own", payload)).toBe(0);
  const [filled] = carried.fill([answer({ carried: { own: 0 } }, { values: { own: null } })]);
  const { own } = filled!.values as { own: { pieces: Buffer[] } };
  expect(Buffer.concat(own.pieces).toString()).toBe(view);
});

it("knows no other number", () => {
  const carried = new CarriedValues();
  expect(() => carried.textOf(0)).toThrow("There is no value 0");
  expect(() => carried.fill([answer({ root: 3 }, { values: null })])).toThrow("There is no value 3");
});
