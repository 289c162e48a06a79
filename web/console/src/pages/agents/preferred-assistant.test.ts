import { expect, it } from "vitest";
import { preferredAssistant } from "./preferred-assistant.ts";

const assistant = (graph_id: string, created_by?: string) => ({
  graph_id,
  metadata: created_by ? { created_by } : {},
});

it("people begin with the server's own agent, not with the newest that somebody made", () => {
  const own = assistant("agent", "system");
  expect(preferredAssistant([assistant("agent"), assistant("echo", "system"), own])).toBe(own);
});

it("without it with another one of that graph, or of the server, or with any", () => {
  const made = assistant("agent");
  expect(preferredAssistant([assistant("echo", "system"), made])).toBe(made);
  const echo = assistant("echo", "system");
  expect(preferredAssistant([assistant("journal"), echo])).toBe(echo);
  expect(preferredAssistant([])).toBeUndefined();
});
