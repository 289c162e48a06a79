import { expect, it } from "vitest";
import { toBranches } from "./message-branches.ts";
import type { Checkpoint } from "./servers/chat-server.ts";

type Taken = [id: string, parent: string | null, run: string, messages: string[], source?: string];

/** Steps in the order they were taken. */
function steps(...taken: Taken[]): Checkpoint[] {
  return taken
    .map(([id, parent, run_id, messages, source = "loop"]) => ({
      values: { messages: messages.map((message) => ({ id: message })) },
      metadata: { source, ...(run_id ? { run_id } : {}) },
      checkpoint: { checkpoint_id: id },
      parent_checkpoint: parent === null ? null : { checkpoint_id: parent },
    }))
    .reverse() as unknown as Checkpoint[];
}

it("one line of talk has one version of everything, and names who wrote it", () => {
  const { versions, runs } = toBranches(
    steps(["1", null, "r1", ["h"]], ["2", "1", "r1", ["h", "a"]], ["3", "2", "r2", ["h", "a", "h2"]]),
  );
  expect(versions.size).toBe(0);
  expect([...runs]).toEqual([
    ["h", "r1"],
    ["a", "r1"],
    ["h2", "r2"],
  ]);
});

it("a changed message is another version at the same place, which remembers where it ended", () => {
  const { versions } = toBranches(
    steps(
      ["1", null, "r1", []],
      ["2", "1", "r1", ["h"]],
      ["3", "2", "r1", ["h", "a"]],
      ["4", "1", "r1", []],
      ["5", "4", "r2", ["h2"]],
      ["6", "5", "r2", ["h2", "a2"]],
    ),
  );
  expect([...versions]).toEqual([["h2", { at: 1, checkpoints: ["3", "6"] }]]);
});

it("an answer given again is another version, also with the same id", () => {
  const { versions, runs } = toBranches(
    steps(
      ["1", null, "r1", ["h"]],
      ["2", "1", "r1", ["h", "a"]],
      ["3", "1", "r1", ["h"]],
      ["4", "3", "r2", ["h", "a"]],
    ),
  );
  expect(versions.get("a")).toEqual({ at: 1, checkpoints: ["2", "4"] });
  expect(versions.has("h")).toBe(false);
  expect(runs.get("a")).toBe("r2");
});

it("a copy of a step is the same words, wherever it stands", () => {
  const { versions, runs } = toBranches(
    steps(
      ["0", null, "r1", []],
      ["1", "0", "r1", ["h"]],
      ["2", "1", "r1", ["h", "a"]],
      ["3", "0", "", ["h"], "fork"],
      ["4", "3", "r2", ["h", "a"]],
      ["5", "1", "", ["h", "a"], "fork"],
    ),
  );
  expect([...versions]).toEqual([["a", { at: 0, checkpoints: ["5", "4"] }]]);
  expect(runs.get("a")).toBe("r1");
});

it("going back to a version makes it the one that is shown", () => {
  const { versions } = toBranches(
    steps(
      ["1", null, "r1", ["h"]],
      ["2", "1", "r1", ["h", "a"]],
      ["3", "1", "r2", ["h", "b"]],
      ["4", "2", "r1", ["h", "a"]],
    ),
  );
  expect(versions.get("a")).toEqual({ at: 0, checkpoints: ["4", "3"] });
});

it("nothing is known of nothing", () => {
  expect(toBranches([])).toEqual({ versions: new Map(), runs: new Map() });
});
