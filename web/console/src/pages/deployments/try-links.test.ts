import { expect, it } from "vitest";
import { chatHref, graphNames } from "./try-links.ts";

it("leads to the chat of the deployment and of the graph, whatever its name is", () => {
  expect(chatHref("d1", undefined)).toBe("/chat#/s/d1");
  expect(chatHref("d1", "agent")).toBe("/chat#/s/d1/a/agent");
  expect(chatHref("d1", "my graph/2")).toBe("/chat#/s/d1/a/my%20graph%2F2");
});

it("names each graph once, and agent first", () => {
  const assistants = ["writer", "agent", "agent", "critic"].map((graph_id) => ({ graph_id }));
  expect(graphNames(assistants)).toEqual(["agent", "critic", "writer"]);
  expect(graphNames([{ graph_id: "b" }, { graph_id: "a" }])).toEqual(["a", "b"]);
  expect(graphNames([])).toEqual([]);
});
