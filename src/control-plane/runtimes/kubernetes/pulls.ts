import { isPullFailing, type Pod, serverOf } from "./pods.ts";

/** Since when images cannot be pulled, as it was seen from here. */
export class PullFailures {
  readonly #since = new Map<string, number>();

  note(pods: readonly Pod[]): void {
    for (const pod of pods) {
      const { name } = pod.metadata;
      if (isPullFailing(pod)) this.#since.set(name, this.#since.get(name) ?? performance.now());
      // "ErrImagePull" and waiting for the next attempt take turns with nothing in between.
      else if (serverOf(pod)?.state?.running) this.#since.delete(name);
    }
  }

  /** How long that of this pod cannot be; 0 for one that can. */
  failedMs(pod: string): number {
    const now = performance.now();
    return now - (this.#since.get(pod) ?? now);
  }
}
