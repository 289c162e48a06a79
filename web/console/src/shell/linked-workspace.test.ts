import { expect, test } from "vitest";
import { linkedWorkspace } from "./linked-workspace.ts";

test("only an address of the tracing SDK names a workspace", () => {
  const id = "0b7a3f1e-1111-4222-8333-abcdefabcdef";
  expect(linkedWorkspace(`/o/${id.toUpperCase()}/datasets/1`)).toBe(id);
  expect(linkedWorkspace(`/o/${id}`)).toBe(id);
  for (const path of ["/", "/o/tenant/projects/p/1", `/traces/${id}`, `/x/o/${id}`, `/o/${id}x/datasets`])
    expect(linkedWorkspace(path)).toBeNull();
});
