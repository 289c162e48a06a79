import { expect, it } from "vitest";
import { noTaskId, type StoredCheckpoint } from "../checkpoints/checkpoint.ts";
import { wireTexts } from "../checkpoints/wire-text.ts";
import type { OpenedGraph } from "../graphs/graph-runtime.ts";
import { StateTexts } from "./state-texts.ts";
import type { StatePart } from "./thread-state.ts";

const json = (value: unknown) => ({ type: "json", text: JSON.stringify(value) });
const write = (value: unknown, taskId = "t") => ({ taskId, idx: 0, channel: "n", payload: json(value) });

/** As if read anew: no object of it is one that was seen before. */
function checkpoint(change: Partial<StoredCheckpoint> = {}): StoredCheckpoint {
  return {
    ...{ threadId: "thread", checkpointNs: "", checkpointId: "c", parentCheckpointId: "b" },
    ...{ structure: "{}", metadata: '{"step":1}', writes: [write(1)] },
    blobs: new Map([["messages", { ...json(["hi"]), version: "1" }]]),
    ...change,
  };
}

const graph = (change: Partial<OpenedGraph> = {}) =>
  ({ graphId: "graph", isRepeatable: true, ...change }) as OpenedGraph;

/** Its states have the messages as text, and a number that grows with each time that one is computed. */
function createStates() {
  const texts = new StateTexts();
  let computed = 0;
  const ask = async (
    pages: StoredCheckpoint[][],
    place: { graph?: OpenedGraph; kind?: string | undefined } = {},
  ) => {
    const where = { graph: graph(), kind: "history", ...place, read: pages };
    const found = await texts.of(where, async (missing) =>
      missing.flat().map(({ blobs }) => {
        const payload = blobs.get("messages");
        const messages = payload && wireTexts([payload]).get(payload);
        computed += 1;
        return { values: { messages, computed }, next: [], config: {}, tasks: [] };
      }),
    );
    return pages.flat().map((stored) => JSON.parse(textOf(found.get(stored)!)).values as object);
  };
  return { one: async (stored = checkpoint(), place = {}) => (await ask([[stored]], place))[0], ask };
}

const textOf = (parts: readonly StatePart[]) =>
  parts
    .map((part) => (typeof part === "string" ? part : Buffer.concat(part.text.pieces).toString()))
    .join("");

it("computes a state once, and puts its long values in each time", async () => {
  const { one } = createStates();
  expect([await one(), await one()]).toEqual([
    { messages: ["hi"], computed: 1 },
    { messages: ["hi"], computed: 1 },
  ]);
});

it("computes only those of a page that it does not know", async () => {
  const { ask } = createStates();
  const [a, b, c] = ["a", "b", "c"].map((checkpointId) => () => checkpoint({ checkpointId }));
  await ask([[b!()]]);
  const numbers = (await ask([[c!(), b!()], [a!()]])).map(
    (values) => (values as { computed: number }).computed,
  );
  expect(numbers).toEqual([2, 1, 3]);
});

it.each<[string, Partial<StoredCheckpoint>]>([
  ["another thread", { threadId: "other" }],
  ["another namespace", { checkpointNs: "inner:1" }],
  ["another parent, as the oldest that is kept has none", { parentCheckpointId: null }],
  ["another structure", { structure: '{"v":4}' }],
  ["other metadata", { metadata: '{"step":2}' }],
  ["a write less", { writes: [] }],
  ["a write more", { writes: [write(1), { ...write(1), idx: 1 }] }],
  ["an answer to another question", { writes: [write(2)] }],
  ["a write of another task", { writes: [write(1, "u")] }],
  ["another version of a value", { blobs: new Map([["messages", { ...json(["hi"]), version: "2" }]]) }],
  [
    "a value more",
    {
      blobs: new Map([
        ["messages", { ...json(["hi"]), version: "1" }],
        ["n", { ...json(1), version: "1" }],
      ]),
    },
  ],
  ["a value that is gone", { blobs: new Map() }],
])("computes it again for %s", async (_, change) => {
  const { one } = createStates();
  await one();
  expect(await one(checkpoint(change))).toMatchObject({ computed: 2 });
});

it.each<[string, object]>([
  ["by another graph", { graph: graph({ graphId: "other" }) }],
  ["in another way", { kind: "state" }],
  ["in a way that is not kept", { kind: undefined }],
  ["by a graph that is made for each caller", { graph: graph({ isRepeatable: false }) }],
])("computes it again %s", async (_, place) => {
  const { one } = createStates();
  await one();
  expect(await one(checkpoint(), place)).toMatchObject({ computed: 2 });
});

it("does not keep what the graph's own code has a part in", async () => {
  const { one } = createStates();
  const applied = () => checkpoint({ writes: [write(1, noTaskId)] });
  await one(applied());
  expect(await one(applied())).toMatchObject({ computed: 2 });
});

it("does not keep a state that would take the place of many", async () => {
  const { one } = createStates();
  const large = () => checkpoint({ writes: [write("x".repeat(300_000))] });
  await one(large());
  expect(await one(large())).toMatchObject({ computed: 2 });
});
