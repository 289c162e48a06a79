import { randomUUID } from "node:crypto";
import { type BuildLine, lineLimits, logFullCode } from "../../../control-plane/builds/pods/build-pod.ts";
import { errorMessage } from "../../../platform/errors.ts";
import { type PlatformCalls, Refused } from "./platform-calls.ts";

const flushMs = 250;
const maxWaiting = 10_000;
const answerMs = 15_000;

/**
 * Sends what a build prints to the platform, in order and in batches. A log that cannot be stored does not stop the
 * build, and holds it up for a minute in all.
 */
export class BuildLines {
  readonly #calls: PlatformCalls;
  /** This process: another one of the same build counts anew. */
  readonly #sender = randomUUID();
  #batches = 0;
  #waiting: BuildLine[] = [];
  #dropped = 0;
  #isFull = false;
  #patienceMs: number;
  #timer: NodeJS.Timeout | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(calls: PlatformCalls, patienceMs = 60_000) {
    this.#calls = calls;
    this.#patienceMs = patienceMs;
  }

  /** A text of several lines is as many; how far the build is comes with the first. */
  add({ text, origin, progress }: BuildLine): void {
    const [first, ...rest] = text.slice(0, lineLimits.longestLine).split("\n");
    this.#addLine({ text: first!, origin, ...(progress === undefined ? {} : { progress }) });
    for (const line of rest) this.#addLine({ text: line, origin });
  }

  #addLine(line: BuildLine): void {
    if (this.#isFull && line.progress === undefined) return;
    if (this.#waiting.length >= maxWaiting && line.progress === undefined) this.#dropped += 1;
    else this.#waiting.push(line);
    this.#timer ??= setTimeout(() => this.#flush(), flushMs);
  }

  /** Everything added so far was sent, or could not be. */
  async end(): Promise<void> {
    this.#flush();
    await this.#last;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#last = this.#last.then(() => this.#send());
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const dropped = this.#dropped;
      const lines = this.#waiting.splice(0, lineLimits.mostLines - 1);
      const text = `${dropped} lines were left out: too many at once, or the platform was away.`;
      try {
        await this.#post(dropped > 0 ? [{ text, origin: "platform" }, ...lines] : lines);
        this.#dropped -= dropped;
      } catch (error) {
        if (error instanceof Refused && error.code === logFullCode) this.#becomeFull();
        else this.#lose(lines.length, error);
      }
    }
  }

  /** Only what fails costs patience. */
  async #post(lines: BuildLine[]): Promise<void> {
    const begun = performance.now();
    let hasFailed = false;
    // The same number however often it is sent: an answer may be lost after the lines were stored.
    this.#batches += 1;
    const batch = { sender: this.#sender, number: this.#batches };
    const post = async () => {
      try {
        await this.#calls.post("/lines", { batch, lines }, AbortSignal.timeout(answerMs));
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    };
    try {
      await this.#calls.attempt(post, { awayMs: this.#patienceMs });
    } finally {
      const lostMs = hasFailed ? performance.now() - begun : 0;
      this.#patienceMs = Math.max(0, this.#patienceMs - lostMs);
    }
  }

  /** Once the patience is over, nothing waits: what comes later is tried once. */
  #lose(lines: number, error: unknown): void {
    console.error(`Lines of the build could not be sent: ${errorMessage(error)}`);
    this.#dropped += lines;
    if (this.#patienceMs > 0) return;
    this.#dropped += this.#waiting.length;
    this.#waiting = [];
  }

  /** How far the build is, is still told. */
  #becomeFull(): void {
    this.#isFull = true;
    this.#dropped = 0;
    this.#waiting = this.#waiting.filter(({ progress }) => progress !== undefined);
  }
}
