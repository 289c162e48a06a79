import type { Checkpoint } from "./servers/chat-server.ts";

type Message = { id?: string };

/** The other versions of a message: what was said, or answered, at the same place on other branches. */
export type Versions = {
  /** Which of them is shown, from 0. */
  at: number;
  /** Where each of them was last: the checkpoint to go on from. */
  checkpoints: string[];
};

export type Branches = {
  /** By the id of a message on the branch that is shown; undefined where there is one version only. */
  versions: ReadonlyMap<string, Versions>;
  /** The run that wrote a message of the branch that is shown. */
  runs: ReadonlyMap<string, string>;
};

export const noBranches: Branches = { versions: new Map(), runs: new Map() };

/**
 * What the steps of a thread, newest first, show about its branches. A message is identified by its id and by the run
 * that wrote it: a model may give the same answer, with the same id, when it is asked again.
 */
export function toBranches(steps: readonly Checkpoint[]): Branches {
  const keysOf = new Map<string, string[]>();
  /** The keys of steps with one parent, by their messages: a copy of a step stands beside it. */
  const beside = new Map<string, string[]>();
  const followers = new Map<string, string[]>();
  const lastAt = new Map<string, string>();
  for (const step of steps.toReversed()) {
    const { checkpoint_id } = step.checkpoint;
    const before = keysOf.get(step.parent_checkpoint?.checkpoint_id ?? "") ?? [];
    const writer = step.metadata.run_id ?? checkpoint_id;
    const ids = ((step.values.messages ?? []) as Message[]).map(
      (message, at) => message.id ?? `message-${at}`,
    );
    const place = `${step.parent_checkpoint?.checkpoint_id ?? ""} ${ids.join(" ")}`;
    const copied = step.metadata.source === "fork" ? beside.get(place) : undefined;
    const keys = copied ?? ids.map((id, at) => (idOf(before[at]) === id ? before[at]! : `${writer} ${id}`));
    beside.set(place, keys);
    keysOf.set(checkpoint_id, keys);
    for (const [at, key] of keys.entries()) {
      const known = followers.get(keys[at - 1] ?? "") ?? [];
      if (!known.includes(key)) followers.set(keys[at - 1] ?? "", [...known, key]);
      lastAt.set(key, checkpoint_id);
    }
  }
  const shown = keysOf.get(steps[0]?.checkpoint.checkpoint_id ?? "") ?? [];
  const versions = new Map<string, Versions>();
  for (const [at, key] of shown.entries()) {
    const all = followers.get(shown[at - 1] ?? "") ?? [];
    if (all.length < 2) continue;
    versions.set(idOf(key)!, { at: all.indexOf(key), checkpoints: all.map((one) => lastAt.get(one)!) });
  }
  return { versions, runs: new Map(shown.map((key) => [idOf(key)!, key.slice(0, key.indexOf(" "))])) };
}

function idOf(key: string | undefined): string | undefined {
  return key?.slice(key.indexOf(" ") + 1);
}
