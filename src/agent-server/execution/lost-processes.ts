const kept = 200;
const longest = 600;

/** How the processes of runs ended, for the words of a run that is tried no more. Bounded: the oldest are forgotten. */
export class LostProcesses {
  readonly #reasons = new Map<string, string>();

  /** The first line tells why; below it are the process's own last lines, which are in the log. */
  note(runId: string, message: string): void {
    this.#reasons.delete(runId);
    this.#reasons.set(runId, message.split("\n", 1)[0]!.slice(0, longest));
    const [oldest] = this.#reasons.keys();
    if (this.#reasons.size > kept) this.#reasons.delete(oldest!);
  }

  take(runId: string): string | undefined {
    const reason = this.#reasons.get(runId);
    this.#reasons.delete(runId);
    return reason;
  }
}
