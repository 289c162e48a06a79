import { describe, expect, it } from "vitest";
import type { ThreadState } from "../agent-api.ts";
import {
  activityOf,
  activityUnderWay,
  joinedActivity,
  noActivity,
  tokensIn,
  withStanding,
  withTask,
} from "./node-activity.ts";

const answer = (tokens: number) => ({ messages: [{ type: "ai", usage_metadata: { total_tokens: tokens } }] });

describe("tasks of a stream", () => {
  it("light a node up while it runs, and leave its time and its tokens", () => {
    const begun = withTask(noActivity, "tasks", { id: "1", name: "agent", input: {} }, 1_000);
    expect(begun.nodes.get("agent")).toMatchObject({ running: 1, times: 0 });
    const ended = withTask(
      begun,
      "tasks",
      { id: "1", name: "agent", result: answer(7), interrupts: [] },
      1_250,
    );
    expect(ended.nodes.get("agent")).toMatchObject({ running: 0, times: 1, ms: 250, tokens: 7 });
    expect(ended.open.size).toBe(0);
  });

  it("of a subgraph belong to the node of that name in the drawing", () => {
    const begun = withTask(noActivity, "tasks|tools:uuid", { id: "2", name: "researcher", input: {} }, 0);
    expect([...begun.nodes.keys()]).toEqual(["tools:researcher"]);
  });

  it("that ask or fail show that", () => {
    const asked = withTask(noActivity, "tasks", { id: "1", name: "a", result: {}, interrupts: [{}] }, 0);
    expect(asked.nodes.get("a")).toMatchObject({ waits: true, failed: false });
    const failed = withTask(noActivity, "tasks", { id: "1", name: "a", error: "no", interrupts: [] }, 0);
    expect(failed.nodes.get("a")).toMatchObject({ failed: true });
  });

  it("have no time when both ends came from the log at once", () => {
    const begun = withTask(noActivity, "tasks", { id: "1", name: "a", input: {} }, 10);
    expect(withTask(begun, "tasks", { id: "1", name: "a", result: {} }, 11).nodes.get("a")!.ms).toBeNull();
  });

  it("count no tokens of messages they were given: a subgraph returns its whole state", () => {
    const given = { messages: [{ type: "ai", id: "old", usage_metadata: { total_tokens: 7 } }] };
    const begun = withTask(noActivity, "tasks", { id: "1", name: "loom", input: given }, 0);
    const more = { type: "ai", id: "new", usage_metadata: { total_tokens: 2 } };
    const result = { messages: [...given.messages, more] };
    expect(withTask(begun, "tasks", { id: "1", name: "loom", result }, 9).nodes.get("loom")!.tokens).toBe(2);
    expect(
      withTask(begun, "tasks", { id: "1", name: "loom", result: given }, 9).nodes.get("loom")!.tokens,
    ).toBe(0);
  });

  it("and whatever else comes changes nothing", () => {
    expect(withTask(noActivity, "values", { id: "1", name: "a" }, 0)).toBe(noActivity);
    expect(withTask(noActivity, "tasks", null, 0)).toBe(noActivity);
  });
});

describe("what a run left in the history", () => {
  const state = (
    id: string,
    parent: string | null,
    at: number,
    node: string | null,
    task: object = {},
    more: object = {},
  ) =>
    ({
      checkpoint: { checkpoint_id: id },
      parent_checkpoint: parent === null ? null : { checkpoint_id: parent },
      created_at: new Date(at).toISOString(),
      metadata: { run_id: "r" },
      tasks: node ? [{ id, name: node, interrupts: [], result: answer(5), ...task }] : [],
      ...more,
    }) as unknown as ThreadState;

  it("says how long each node took, over all its turns", () => {
    const states = [
      state("4", "3", 900, null),
      state("3", "2", 400, "agent"),
      state("2", "1", 300, "tools"),
      state("1", "0", 100, "agent"),
      state("0", null, 90, "__start__"),
    ];
    const { nodes } = activityOf(states, "r");
    expect(nodes.get("agent")).toMatchObject({ times: 2, ms: 700, tokens: 10 });
    expect(nodes.get("tools")).toMatchObject({ times: 1, ms: 100 });
    expect(nodes.has("__start__")).toBe(false);
    expect(activityOf(states, "another").nodes.size).toBe(0);
  });

  it("names the node that waits, and not those that have not run", () => {
    const waiting = state("1", "0", 100, "approve", { interrupts: [{ value: "?" }], result: null });
    expect(activityOf([waiting], "r").nodes.get("approve")).toMatchObject({ waits: true, ms: null });
    expect(activityOf([state("1", "0", 100, "next")], "r").nodes.size).toBe(0);
  });

  it("no longer waits for an answer that another run has brought", () => {
    const asked = state("1", "0", 100, "approve", { interrupts: [{ value: "?" }], result: null });
    const answered = state("2", "1", 900, null, {}, { metadata: { run_id: "answer" } });
    const { nodes } = activityOf([answered, asked], "r");
    expect(nodes.get("approve")).toMatchObject({ waits: false, times: 1, ms: null });
  });

  it("counts no tokens of messages that were there before", () => {
    const old = { type: "ai", id: "old", usage_metadata: { total_tokens: 7 } };
    const more = { values: { messages: [old] } };
    const states = [
      state("2", "1", 300, null, {}, more),
      state("1", "0", 100, "loom", { result: { messages: [old] } }, more),
    ];
    expect(activityOf(states, "r").nodes.get("loom")).toMatchObject({ times: 1, tokens: 0 });
  });

  it("is what failed there, also when the run left no checkpoint of its own", () => {
    const [task] = state("1", "0", 100, "weave", { error: { message: "no" } }).tasks;
    expect(withStanding(noActivity, [task!]).nodes.get("weave")).toMatchObject({ failed: true, times: 0 });
    expect(withStanding(noActivity, state("1", "0", 100, "weave").tasks)).toBe(noActivity);
  });

  it("of a run that goes on tells what runs after its last checkpoint", () => {
    const states = [
      state("2", "1", 300, "agent", { result: null }, { next: ["agent", "tools"] }),
      state("1", "0", 100, "agent"),
    ];
    const { nodes } = activityUnderWay(states, "r");
    expect(nodes.get("agent")).toMatchObject({ running: 1, times: 1, ms: 200 });
    expect(nodes.get("tools")).toMatchObject({ running: 1, times: 0 });
    // It has written nothing yet: what is there is another run's.
    expect(activityUnderWay(states, "new").nodes.size).toBe(0);
    const begun = [state("0", null, 90, "__start__", {}, { next: ["__start__"] })];
    expect(activityUnderWay(begun, "r").nodes.size).toBe(0);
    expect(activityUnderWay([], "r").nodes.size).toBe(0);
  });

  it("is joined by what was seen of subgraphs", () => {
    const live = withTask(noActivity, "tasks|tools:x", { id: "9", name: "inner", input: {} }, 0);
    expect([...joinedActivity(live, activityOf([], "r")).nodes.keys()]).toEqual(["tools:inner"]);
  });
});

it("tokens are counted wherever they are", () => {
  expect(tokensIn({ usage_metadata: { input_tokens: 1, output_tokens: 2 } })).toBe(3);
  expect(tokensIn([["messages", [answer(2)]]])).toBe(2);
  expect(tokensIn("nothing")).toBe(0);
});
