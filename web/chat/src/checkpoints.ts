import type { ChatServer, Checkpoint } from "./servers/chat-server.ts";
import { textOf } from "./turns.ts";

type Message = {
  id?: string;
  type?: string;
  content?: unknown;
  name?: string;
  tool_calls?: { name: string }[];
};

const messagesOf = (step: Checkpoint) => (step.values.messages ?? []) as Message[];

/** The checkpoints that led to the latest one; the rest belongs to branches that were left. */
export function branchOf(steps: readonly Checkpoint[]): Set<string> {
  const byId = new Map(steps.map((step) => [step.checkpoint.checkpoint_id, step]));
  const branch = new Set<string>();
  for (let step = steps[0]; step; step = byId.get(step.parent_checkpoint?.checkpoint_id ?? "")) {
    branch.add(step.checkpoint.checkpoint_id);
  }
  return branch;
}

/** The steps that led to the latest one, newest first, read only as far back as needed. */
async function* pathOf(server: ChatServer, threadId: string): AsyncGenerator<Checkpoint> {
  const known = new Map<string, Checkpoint>();
  let page = await server.listCheckpoints(threadId, { limit: 100 });
  let step = page[0];
  while (step) {
    for (const one of page) known.set(one.checkpoint.checkpoint_id, one);
    yield step;
    const parent: string | undefined = step.parent_checkpoint?.checkpoint_id;
    if (parent === undefined) return;
    while (!known.has(parent)) {
      const last = page.at(-1);
      if (!last) return;
      page = await server.listCheckpoints(threadId, { limit: 100, before: last.checkpoint.checkpoint_id });
      for (const one of page) known.set(one.checkpoint.checkpoint_id, one);
    }
    step = known.get(parent);
  }
}

/**
 * The checkpoint just before a message: where a branch without it begins. (`useMessageMetadata` names the
 * parent of the latest checkpoint that holds the message, which is only right for the last one.)
 */
export async function findCheckpointBefore(
  server: ChatServer,
  threadId: string,
  messageId: string,
): Promise<string | undefined> {
  for await (const step of pathOf(server, threadId)) {
    const isBefore = !messagesOf(step).some((message) => message.id === messageId);
    // The step that only took the input in has a cleaner one before it, except at the very beginning.
    if (isBefore && (step.metadata.source !== "input" || step.parent_checkpoint === null)) {
      return step.checkpoint.checkpoint_id;
    }
  }
  return undefined;
}

/** The checkpoint that ends with a message: where another answer to it begins. */
export async function findCheckpointAt(
  server: ChatServer,
  threadId: string,
  messageId: string,
): Promise<string | undefined> {
  for await (const step of pathOf(server, threadId)) {
    if (messagesOf(step).at(-1)?.id === messageId) return step.checkpoint.checkpoint_id;
  }
  return undefined;
}

export function describeStep(step: Checkpoint): { title: string; detail: string } {
  const last = messagesOf(step).at(-1);
  const calls = last?.type === "ai" ? (last.tool_calls ?? []) : [];
  if (step.metadata.source === "input") return { title: "Began", detail: "" };
  if (step.metadata.source === "fork") return { title: "Branched", detail: shorten(textOf(last?.content)) };
  const called = [...new Set(calls.map(({ name }) => name))].join(", ");
  if (step.interrupts.length > 0) return { title: "Asked for approval", detail: shorten(called) };
  if (!last) return { title: "Began", detail: "" };
  if (last.type === "human") return { title: "You", detail: shorten(textOf(last.content)) };
  if (last.type === "tool") return { title: "Got a result", detail: last.name ?? "" };
  if (calls.length > 0) return { title: "Called", detail: shorten(called) };
  return { title: "Answered", detail: shorten(textOf(last.content)) };
}

function shorten(text: string): string {
  const line = text
    .replace(/[#*`>]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
  return line.length > 90 ? `${line.slice(0, 89)}…` : line;
}
