import { expect, it } from "vitest";
import { branchOf, describeStep, findCheckpointAt, findCheckpointBefore } from "./checkpoints.ts";
import type { ChatServer, Checkpoint } from "./servers/chat-server.ts";

type Taken = [id: string, parent: string | null, source: string, messages: string[]];
const taken: Taken[] = [
  ["1", null, "input", []],
  ["2", "1", "loop", ["h1"]],
  ["3", "2", "loop", ["h1", "a1"]],
  ["4", "3", "input", ["h1", "a1"]],
  ["5", "4", "loop", ["h1", "a1", "h2"]],
  ["6", "5", "loop", ["h1", "a1", "h2", "a2"]],
  ["7", "2", "fork", ["h1"]],
  ["8", "7", "loop", ["h1", "b1"]],
];

/** Newest first, as a server lists them; `last` steps were taken. */
function stepsUntil(last: number): Checkpoint[] {
  return taken
    .slice(0, last)
    .map(([id, parent, source, messages]) => ({
      values: {
        messages: messages.map((one) => ({ id: one, type: one[0] === "h" ? "human" : "ai", content: one })),
      },
      metadata: { source },
      checkpoint: { checkpoint_id: id },
      parent_checkpoint: parent === null ? null : { checkpoint_id: parent },
      interrupts: [],
    }))
    .reverse() as unknown as Checkpoint[];
}

/** Two steps a page, so that every walk has to turn pages. */
function server(last: number): ChatServer {
  const all = stepsUntil(last);
  return {
    listCheckpoints: async (_id: string, { before }: { before?: string }) => {
      const from = before ? all.findIndex(({ checkpoint }) => checkpoint.checkpoint_id === before) + 1 : 0;
      return all.slice(from, from + 2);
    },
  } as unknown as ChatServer;
}

it("a branch without a message begins at the clean step before it", async () => {
  expect(await findCheckpointBefore(server(6), "t", "h2")).toBe("3");
  expect(await findCheckpointBefore(server(6), "t", "h1")).toBe("1");
  expect(await findCheckpointBefore(server(8), "t", "b1")).toBe("7");
});

it("another answer begins where the message was the last, on the branch that is shown", async () => {
  expect(await findCheckpointAt(server(6), "t", "h2")).toBe("5");
  expect(await findCheckpointAt(server(6), "t", "h1")).toBe("2");
  expect(await findCheckpointAt(server(8), "t", "h1")).toBe("7");
  expect(await findCheckpointAt(server(8), "t", "h2")).toBeUndefined();
});

it("steps that led to the latest one are its branch", () => {
  expect([...branchOf(stepsUntil(8))]).toEqual(["8", "7", "2", "1"]);
});

it("steps are described by what they added", () => {
  expect(stepsUntil(8).map((step) => describeStep(step).title)).toEqual([
    "Answered",
    "Branched",
    "Answered",
    "You",
    "Began",
    "Answered",
    "You",
    "Began",
  ]);
});
