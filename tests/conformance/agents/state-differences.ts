import type { Difference } from "./differences.ts";
import { isRecord, type Json, type JsonRecord, without } from "./json.ts";

const isStateTask = (value: Json): value is JsonRecord =>
  isRecord(value) && "path" in value && "result" in value && "state" in value && "checkpoint" in value;

export const stateDifferences: Record<string, Difference> = {
  "results of past tasks": {
    reason:
      "In a state, JavaScript's library knows no result of a task that asked, was changed by hand or returned nothing, and has messages without their ids.",
    mend: (value) => (isStateTask(value) ? without(value, "result") : value),
  },
  "paths of sent tasks": {
    reason: "Python's library adds to the path of a task that was sent whether it was called.",
    mend: (value, key) =>
      key === "path" && Array.isArray(value) && value[0] === "__pregel_push" ? value.slice(0, 2) : value,
  },
  "where the parent is": {
    reason: "Of a subgraph's parent checkpoint Python's library also tells the map of the levels above.",
    mend: (value, key) =>
      key === "parent_checkpoint" && isRecord(value) ? { ...value, checkpoint_map: null } : value,
  },
  "maps of checkpoints": {
    reason: "In debug events each library tells in its own way through which levels a subgraph was reached.",
    journeys: /streams debug/,
    mend: (value, key) => (key === "checkpoint_map" ? undefined : value),
  },
  "ids of a second question": {
    reason:
      "The second question of one task has an id of its own in Python, that of the first in JavaScript.",
    journeys: /asks twice/,
    mend: (value) =>
      isRecord(value) && value.value === "Really?" ? { ...value, id: "the id of the question" } : value,
  },
  "questions that are answered": {
    reason:
      "While another question of the step is open, JavaScript's library still tells the one that was answered.",
    journeys: /one after the other/,
    mend: (value) => {
      if (Array.isArray(value))
        return value.filter(
          (one) => !(isRecord(one) && "id" in one && isRecord(one.value!) && one.value.question === "right"),
        );
      return value;
    },
  },
  "words of errors": {
    reason: "Messages of the libraries' own exceptions are in their own words; their names are the same.",
    mend: (value) =>
      typeof value === "string"
        ? value
            .replace(/^(GraphRecursionError): .*/s, "$1")
            .replace(/^(EmptyInputError): .*/s, "$1")
            .replace(/Node \\"(\w+)\\" does/, "Node $1 does")
        : value,
  },
};
