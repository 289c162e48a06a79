import type { RunCommand } from "../graph-call.ts";
import type { GraphKit } from "./graph-kit.ts";

/** Commands must be built from the graph's own copy of the library: another copy's `Send` is refused. */
export function toCommand(kit: GraphKit, command: RunCommand): unknown {
  const { goto, update, resume } = command;
  return new kit.Command({
    ...(resume === undefined ? {} : { resume }),
    ...(update === undefined || update === null ? {} : { update: update as Record<string, unknown> }),
    ...(goto === undefined || goto === null ? {} : { goto: asList(goto).map((step) => toStep(kit, step)) }),
  } as never);
}

function toStep(kit: GraphKit, step: string | { node: string; input: unknown }) {
  return typeof step === "string" ? step : new kit.Send(step.node, step.input);
}

function asList<T>(value: T | T[]): T[] {
  return Array.isArray(value) ? value : [value];
}
