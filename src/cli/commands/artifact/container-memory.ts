import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { buildOutOfMemory } from "../../../control-plane/runtimes/kubernetes/build-words.ts";

/** What the kernel says of this container's memory; the second version of control groups first. */
const places = [
  { limit: "memory.max", count: "memory.events" },
  { limit: "memory/memory.limit_in_bytes", count: "memory/memory.oom_control" },
];

/** Whether a process of this container was ended because the container had no memory left, and how to say it. */
export async function containerMemory(root = "/sys/fs/cgroup"): Promise<{ ranOut: boolean; words: string }> {
  for (const { limit, count } of places) {
    const [most, events] = await Promise.all([limit, count].map((file) => readIfThere(join(root, file))));
    if (!/^oom_kill [1-9]/m.test(events ?? "")) continue;
    const bytes = Number(most);
    return { ranOut: true, words: buildOutOfMemory(Number.isFinite(bytes) && bytes > 0 ? bytes : null) };
  }
  return { ranOut: false, words: "" };
}

function readIfThere(path: string): Promise<string | null> {
  return readFile(path, "utf8").catch(() => null);
}
