import type { AgentStatus } from "@langchain/protocol";
import { describe, expect, it } from "vitest";
import { buildAgentTree, flattenTree } from "./agent-tree.ts";
import { pendingInterrupts } from "./pending-interrupts.ts";
import { filterOfId, toSubscriptionId } from "./subscription-id.ts";

const lifecycle = (event: AgentStatus, name: string, ...namespace: string[]) => ({
  namespace,
  data: { event, graph_name: name },
});

describe("the tree of a run", () => {
  it("hangs each namespace under its parent, as it was last heard of", () => {
    const tree = buildAgentTree({ graph_id: "agent", status: "running" }, [
      lifecycle("running", "agent"),
      lifecycle("started", "tools", "tools:1"),
      lifecycle("started", "model", "tools:1", "model:2"),
      lifecycle("completed", "model", "tools:1", "model:2"),
      lifecycle("completed", "researcher", "tools:1"),
    ]);
    const model = { namespace: ["tools:1", "model:2"], status: "completed", graph_name: "model" };
    const researcher = {
      namespace: ["tools:1"],
      status: "completed",
      graph_name: "researcher",
      children: [model],
    };
    expect(tree).toEqual({ namespace: [], status: "running", graph_name: "agent", children: [researcher] });
    expect(flattenTree(tree).map(({ namespace }) => namespace.length)).toEqual([0, 1, 2]);
  });

  it.each([
    ["pending", "started"],
    ["running", "running"],
    ["success", "completed"],
    ["error", "failed"],
    ["timeout", "failed"],
    ["interrupted", "interrupted"],
  ] as const)("a run that is %s is %s", (status, expected) => {
    expect(buildAgentTree({ graph_id: "agent", status }, []).status).toBe(expected);
  });
});

describe("pending interrupts", () => {
  const interrupts_json = JSON.stringify({ task: [{ id: "i1", value: 1 }], other: [{ id: "i2", value: 2 }] });

  it("are those of all tasks of an interrupted thread", () => {
    expect(pendingInterrupts({ status: "interrupted", interrupts_json })).toEqual([
      { id: "i1", value: 1 },
      { id: "i2", value: 2 },
    ]);
  });

  it.each(["busy", "idle", "error"] as const)("are none while it is %s", (status) => {
    expect(pendingInterrupts({ status, interrupts_json })).toEqual([]);
  });
});

describe("subscription ids", () => {
  it("carry their filter", () => {
    const filter = { channels: ["values", "custom:ä"], namespaces: [["a:1"], []], depth: 2 };
    expect(filterOfId(toSubscriptionId(3, filter))).toEqual(filter);
  });

  it.each(["", "3", "x.y", "3.e30", `3.${Buffer.from("no json").toString("base64url")}`])(
    "that are none of ours have none: %j",
    (id) => {
      expect(filterOfId(id)).toBeUndefined();
    },
  );
});
