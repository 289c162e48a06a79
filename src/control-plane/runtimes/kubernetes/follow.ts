import { type Exit, removed, stoppedByUs } from "../exit.ts";
import type { Known } from "./known.ts";
import type { KubernetesPicture } from "./picture.ts";
import { exitOf, type Judged, judge, lastEnd, type OwnDeployment, type Pod, serverOf } from "./pods.ts";
import { PullFailures } from "./pulls.ts";

/** `gone`: how it ended, and nothing is left of it. */
export type Followed = { pods: Pod[]; judged: Judged | null; gone: Exit | null };

type Following = {
  picture: KubernetesPicture<OwnDeployment>;
  namespace: string;
  known: Known;
  /** Whether the API server has it no more; `unknown` while that does not answer. */
  isGone(known: Known, signal: AbortSignal): Promise<boolean | "unknown">;
};

/** What is to be seen of an instance, each time something may have changed. */
export async function* followInstance(
  { picture: cluster, namespace, known, isGone }: Following,
  signal: AbortSignal,
): AsyncGenerator<Followed, void, undefined> {
  const memory = new Memory(known);
  const one = { id: known.instance, namespace };
  for await (const { owner, pods } of cluster.looks(one, () => memory.lookAgainMs, signal)) {
    const followed = memory.read(owner, pods);
    // The picture may be older than the object: the API server decides.
    const gone = followed === "gone" && (await isGone(known, signal));
    if (gone === "unknown") memory.lookAgainMs = 0;
    else if (gone) {
      yield { pods: [], judged: null, gone: memory.lastExit ?? removed };
      return;
    } else if (followed && followed !== "gone") yield followed;
  }
}

/** What has to be remembered between two looks at one instance. */
class Memory {
  readonly #known: Known;
  readonly #pulls = new PullFailures();
  lastExit: Exit | null = null;
  lookAgainMs: number | null = null;

  constructor(known: Known) {
    this.#known = known;
  }

  read(deployment: OwnDeployment | undefined, pods: Pod[]): Followed | "gone" | null {
    const { uid, generation, port, memory_bytes: memoryBytes } = this.#known;
    this.lookAgainMs = null;
    if (deployment?.metadata.uid !== uid) return "gone";
    // An older picture, from before it was scaled.
    if ((deployment.metadata.generation ?? 0) < generation) return null;
    this.#pulls.note(pods);
    for (const pod of pods) this.#noteEnd(pod);
    if (deployment.spec.replicas === 0)
      return { pods, judged: null, gone: pods.length === 0 ? (this.lastExit ?? stoppedByUs) : null };
    const { min_replicas: min = 1, max_replicas: max = 1 } = this.#known;
    const judged = judge(deployment, pods, {
      ...{ port, memoryBytes, scale: { min, max }, references: this.#known.references ?? [] },
      pullFailedMs: (name) => this.#pulls.failedMs(name),
    });
    this.lookAgainMs = judged.lookAgainMs;
    return { pods, judged, gone: null };
  }

  #noteEnd(pod: Pod): void {
    const server = serverOf(pod);
    const end = server && lastEnd(server);
    if (end) this.lastExit = exitOf(end, { memoryBytes: this.#known.memory_bytes });
  }
}
