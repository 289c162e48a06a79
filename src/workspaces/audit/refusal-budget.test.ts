import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { type AuditEvent, eventOf } from "./audit.ts";
import { RefusalBudget } from "./refusal-budget.ts";

const limits = { windowMs: 60_000, perWorkspace: 10, perSource: 3, maxWorkspaces: 2 };

function refusal(address: string, workspaceId: string | null = null): AuditEvent {
  const event = eventOf(
    {
      action: "request.refused",
      outcome: "refused",
      status: 401,
      errorCode: "auth.bad_credential",
      caller: null,
      target: null,
      details: {},
      peer: address,
      headers: new Headers(),
      requestId: "r",
    },
    { id: randomUUID(), at: new Date(), address },
  );
  return { ...event, workspace_id: workspaceId };
}

function admitted(budget: RefusalBudget, events: AuditEvent[]): number {
  return events.filter((event) => budget.admit(event)).length;
}

test("the first of a source are written, the others counted in one row", () => {
  const budget = new RefusalBudget(limits);
  expect(admitted(budget, Array(1_000).fill(refusal("192.0.2.1")))).toBe(3);
  expect(budget.close()).toMatchObject([{ left: 997, of: "source" }]);
  expect(budget.close()).toEqual([]);
});

test("many sources share what their workspace has, and take nothing of another's", () => {
  const budget = new RefusalBudget(limits);
  const flood = Array.from({ length: 500 }, (_, index) => refusal(`192.0.2.${index}`, "a"));
  const written = admitted(budget, flood);
  expect(written).toBe(limits.perWorkspace);
  expect(admitted(budget, [refusal("198.51.100.1", "b")])).toBe(1);
  const counted = budget.close().reduce((sum, { left }) => sum + left, 0);
  expect(written + counted).toBe(500);
});

test("more workspaces than are remembered share one room", () => {
  const budget = new RefusalBudget(limits);
  const events = Array.from({ length: 100 }, (_, index) => refusal(`192.0.2.${index}`, `workspace ${index}`));
  expect(admitted(budget, events)).toBe(2 + limits.perWorkspace);
});
