import { describe, expect, it } from "vitest";
import type { CheckpointInput, WritesInput } from "./checkpoint.ts";
import { nameFromStored, nextVersion, storedName, writeIndex } from "./checkpoint.ts";
import {
  arrayLiteral,
  buildBatch,
  type CheckpointItem,
  itemBytes,
  itemKey,
  mergeItems,
  wholeItem,
} from "./checkpoint-batch.ts";

const json = (value: unknown) => ({ type: "json", text: JSON.stringify(value) });

function checkpoint(
  change: Partial<CheckpointInput> = {},
  fence?: { runId: string; attempt: number },
): CheckpointItem {
  const input: CheckpointInput = {
    threadId: "t1",
    checkpointNs: "",
    checkpointId: "c1",
    parentCheckpointId: null,
    structure: "{}",
    metadata: "{}",
    blobRefs: [],
    blobs: [],
    ...change,
  };
  return { kind: "checkpoint", fence, input };
}

function writes(list: WritesInput["writes"], fence?: { runId: string; attempt: number }): CheckpointItem {
  const place = { threadId: "t1", checkpointNs: "", checkpointId: "c1", taskId: "task" };
  return { kind: "writes", fence, input: { ...place, writes: list } };
}

/** Columns of the statement, by the place of their first parameter. */
const checkpointsAt = 2;
const blobsAt = 11;
const writesAt = 19;

describe("buildBatch", () => {
  it("always gives the statement the same number of parameters", () => {
    expect(buildBatch([]).parameters).toHaveLength(28);
    expect(buildBatch([checkpoint(), writes([])]).parameters).toHaveLength(28);
  });

  it("keeps the last of two checkpoints with one key", () => {
    const { parameters } = buildBatch([checkpoint({ structure: "old" }), checkpoint({ structure: "new" })]);
    expect(parameters[checkpointsAt + 5]).toEqual(["new"]);
  });

  it("keeps the first of two values with one version", () => {
    const blob = { channel: "messages", version: "1" };
    const { parameters } = buildBatch([
      checkpoint({ checkpointId: "a", blobs: [{ ...blob, payload: json(1) }] }),
      checkpoint({ checkpointId: "b", blobs: [{ ...blob, payload: json(2) }] }),
    ]);
    expect(parameters[blobsAt + 6]).toEqual(["1"]);
  });

  it("keeps the last special write and the first of any other", () => {
    const first = writes([
      { idx: 0, channel: "a", payload: json("first") },
      { idx: -4, channel: "__resume__", payload: json("first") },
    ]);
    const second = writes([
      { idx: 0, channel: "a", payload: json("second") },
      { idx: -4, channel: "__resume__", payload: json("second") },
    ]);
    const { parameters } = buildBatch([first, second]);
    expect(parameters[writesAt + 4]).toEqual([0, -4]);
    expect(parameters[writesAt + 8]).toEqual(['"first"', '"second"']);
  });

  it("does not merge what is under different fences", () => {
    const { parameters, fenceOf } = buildBatch([
      checkpoint({}, { runId: "r", attempt: 1 }),
      checkpoint({}, { runId: "r", attempt: 2 }),
      checkpoint({}),
      checkpoint({ checkpointId: "c2" }, { runId: "r", attempt: 1 }),
    ]);
    expect(fenceOf).toEqual([1, 2, null, 1]);
    expect(parameters.slice(0, 2)).toEqual([
      ["r", "r"],
      [1, 2],
    ]);
    expect(parameters[checkpointsAt + 4]).toEqual([1, 2, null, 1]);
  });

  it("counts the bytes of values, not the number of items", () => {
    const payload = { type: "json", text: "x".repeat(1000) };
    expect(itemBytes(checkpoint({ blobs: [{ channel: "a", version: "1", payload }] }))).toBe(1004);
    expect(itemBytes(writes([{ idx: 0, channel: "a", payload }]))).toBe(1000);
    const { input } = checkpoint({ blobs: [{ channel: "a", version: "1", payload }] });
    expect(itemBytes({ ...checkpoint(), whole: input } as CheckpointItem)).toBe(1004);
  });
});

describe("items of one key", () => {
  const resume = (value: string) => writes([{ idx: -4, channel: "__resume__", payload: json(value) }]);

  it("are those of one task, or of one checkpoint, under one fence", () => {
    const fence = { runId: "r", attempt: 1 };
    expect(itemKey(resume("a"))).toBe(itemKey(resume("b")));
    expect(itemKey(writes([], fence))).not.toBe(itemKey(writes([])));
    expect(itemKey(checkpoint())).toBe(itemKey(checkpoint({ structure: "x" })));
    expect(itemKey(checkpoint())).not.toBe(itemKey(checkpoint({ checkpointId: "c2" })));
    expect(itemKey(checkpoint())).not.toBe(itemKey(resume("a")));
  });

  it("become one whose whole form has what both would have whole", () => {
    const blob = (text: string, base?: string) => {
      const ref = { channel: "messages", version: text, ...(base && { base }) };
      return [{ ...ref, payload: { type: "json", text } }];
    };
    const added = {
      ...checkpoint({ blobs: blob("added", "1") }),
      whole: checkpoint({ blobs: blob("whole") }).input as CheckpointInput,
    };
    const textsOf = (item: CheckpointItem) =>
      (item.input as CheckpointInput).blobs.map(({ payload }) => payload.text);
    for (const [older, newer, ...texts] of [
      [added, checkpoint({ blobs: blob("other") }), "whole", "other"],
      [checkpoint({ blobs: blob("other") }), added, "other", "whole"],
    ] as const) {
      const merged = mergeItems(older as CheckpointItem, newer as CheckpointItem);
      expect(textsOf(wholeItem(merged))).toEqual(texts);
      expect(textsOf(merged)).toContain("added");
    }
  });

  it("become one that writes what both would have", () => {
    const { parameters } = buildBatch([mergeItems(resume("older"), resume("newer"))]);
    expect(parameters[writesAt + 8]).toEqual(['"newer"']);
    const blob = (channel: string) => [{ channel, version: "1", payload: json(channel) }];
    const merged = buildBatch([
      mergeItems(checkpoint({ structure: "old", blobs: blob("a") }), checkpoint({ blobs: blob("b") })),
    ]);
    expect(merged.parameters[checkpointsAt + 5]).toEqual(["{}"]);
    expect(merged.parameters[blobsAt + 2]).toEqual(["a", "b"]);
  });
});

describe("names and versions", () => {
  it("writes a list as an array literal", () => {
    expect(arrayLiteral([])).toBe("{}");
    expect(arrayLiteral(["a", 'b"\\c', "", "NULL", "d,e"])).toBe('{"a","b\\"\\\\c","","NULL","d,e"}');
  });

  it.each(["messages", "", '"quoted"', "nul\0", "half \ud800", "branch:to:x", "日本"])(
    "brings the name %j back",
    (name) => {
      const stored = storedName(name);
      expect(stored.includes("\0")).toBe(false);
      expect(stored.isWellFormed()).toBe(true);
      expect(nameFromStored(stored)).toBe(name);
    },
  );

  it("keeps ordinary names as they are", () => {
    expect(storedName("branch:to:model")).toBe("branch:to:model");
  });

  it.each([0, 0.5, 0.999999999])("counts up and differs between branches (random %d)", (random) => {
    const first = nextVersion(undefined, random);
    const second = nextVersion(first, random);
    expect(Math.floor(first)).toBe(1);
    expect(Math.floor(second)).toBe(2);
    expect(nextVersion(first, 0.25)).not.toBe(nextVersion(first, 0.75));
  });

  it("gives special writes their own places", () => {
    expect(writeIndex("__interrupt__", 0)).toBe(-3);
    expect(writeIndex("constructor", 2)).toBe(2);
  });
});
