import type { Difference } from "./differences.ts";
import { isRecord, type Json, type JsonRecord, same, without } from "./json.ts";

const isNamed = (value: Json, mode: string): value is JsonRecord =>
  isRecord(value) &&
  typeof value.event === "string" &&
  (value.event === mode || value.event.startsWith(`${mode}|`)) &&
  "data" in value;

const isTask = (value: Json): value is JsonRecord =>
  isRecord(value) && typeof value.id === "string" && typeof value.name === "string" && !("content" in value);

export const eventDifferences: Record<string, Difference> = {
  "values beside a question": {
    reason:
      "Python's library repeats the state beside `__interrupt__`; JavaScript's tells the questions alone.",
    mend: (value) => {
      if (!isNamed(value, "values") || !isRecord(value.data) || !("__interrupt__" in value.data))
        return value;
      return { ...value, data: { __interrupt__: value.data.__interrupt__! } };
    },
  },
  "an update of nothing": {
    reason: "Of a node that returned an empty update JavaScript's library tells `{}`, Python's `null`.",
    mend: (value) => {
      if (isRecord(value) && typeof value.node === "string" && isRecord(value.values))
        return same(value.values, { value: null }) ? { ...value, values: {} } : value;
      if (!isNamed(value, "updates") || !isRecord(value.data)) return value;
      const entries = Object.entries(value.data).map(([node, update]) => [node, update ?? {}]);
      return { ...value, data: Object.fromEntries(entries) as JsonRecord };
    },
  },
  "fields of tasks": {
    reason:
      "A task that begins has `interrupts` in JavaScript; one that ends has `error` in Python, with what failed it. Its path is told by JavaScript alone.",
    mend: (value) => {
      if (!isTask(value)) return value;
      if ("triggers" in value) {
        const { metadata } = value;
        const task = without(value, "interrupts");
        return isRecord(metadata) ? { ...task, metadata: without(metadata, "ls_integration") } : task;
      }
      return "interrupts" in value &&
        !("parent_checkpoint" in value) &&
        !("checkpoint" in value && "state" in value)
        ? without(value, "error", "path")
        : value;
    },
  },
  "configs of checkpoints": {
    reason:
      "JavaScript's library tells the whole config of a run with each checkpoint, Python's where it is.",
    mend: (value, key) =>
      (key === "config" || key === "parent_config") && isRecord(value) && "configurable" in value
        ? { configurable: value.configurable! }
        : value,
  },
  "arguments of a tool": {
    reason: "The mode `tools` has a tool's arguments as JSON text in JavaScript, as an object in Python.",
    mend: (value) =>
      isRecord(value) && value.event === "on_tool_start" && typeof value.input === "string"
        ? { ...value, input: JSON.parse(value.input) as Json }
        : value,
  },
  "results of a tool": {
    reason:
      "JavaScript's library gives the message of a tool its id after the tool has ended, Python's before.",
    mend: (value) =>
      isRecord(value) && value.event === "on_tool_end" && isRecord(value.output)
        ? { ...value, output: without(value.output, "id") }
        : value,
  },
  "what a node of a subgraph writes": {
    reason:
      "Without its subgraphs being streamed, JavaScript's library tells what their nodes write to the stream, Python's does not.",
    journeys: /^nested streams custom$/,
    mend: (value) => (isNamed(value, "custom") ? undefined : value),
  },
  "callbacks of the libraries": {
    reason:
      "The mode `events` passes on each library's own callbacks: which there are, their ids, names, tags and data are theirs.",
    journeys: /streams events/,
    mend: (value) => {
      if (!isNamed(value, "events") || !isRecord(value.data)) return value;
      const { event, name } = value.data;
      if (!/^on_(chat_model|tool)_/.test(String(event))) return undefined;
      return { event: "events", data: { event: event!, name: name! } };
    },
  },
};
