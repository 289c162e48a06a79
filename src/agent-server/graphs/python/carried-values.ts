import type { Payload } from "../../checkpoints/checkpoint.ts";
import { hasWireText, type WireText, wireTexts } from "../../checkpoints/wire-text.ts";
import type { StateSnapshot } from "../state-snapshot.ts";
import type { Incoming } from "./call-stream.ts";
import { ProtocolError } from "./frame.ts";

/** Shorter ones go along: to ask for one would cost more. */
const shortest = 1_024;

type CarriedMeta = {
  /** Field of the values to the number of what belongs there. */
  carried?: Record<string, number>;
  /** The values are what has this number. */
  root?: number;
};

/**
 * Long values of the checkpoints that a state is computed from. Python gets their numbers, asks for the text of those
 * that its graph looks into, and answers with the numbers of the others: their wire text is made here, once for all
 * checkpoints that share it.
 */
export class CarriedValues {
  readonly #numbers = new Map<Payload, number>();
  readonly #values: { channel: string; payload: Payload }[] = [];

  /** Undefined for a value that Python is given as it is. */
  numberOf(channel: string, payload: Payload): number | undefined {
    const known = this.#numbers.get(payload);
    if (known !== undefined) return known;
    if (payload.text.length < shortest || !hasWireText(payload)) return undefined;
    const number = this.#values.push({ channel, payload }) - 1;
    this.#numbers.set(payload, number);
    return number;
  }

  textOf(number: number): string {
    return this.#valueOf(number).payload.text;
  }

  /** The snapshots of Python's answers, with the texts in their places. */
  fill(answers: readonly Incoming[]): StateSnapshot[] {
    const texts = this.#texts(answers);
    return answers.map((answer) => {
      const snapshot = JSON.parse(answer.segments[0]!.toString()) as StateSnapshot;
      const { carried = {}, root } = answer.meta as CarriedMeta;
      const textAt = (number: number) => texts.get(this.#valueOf(number).payload);
      if (root !== undefined) return { ...snapshot, values: textAt(root) };
      const fields = Object.entries(carried).map(([name, number]) => [name, textAt(number)] as const);
      if (fields.length === 0) return snapshot;
      return { ...snapshot, values: { ...(snapshot.values as object), ...Object.fromEntries(fields) } };
    });
  }

  /** Versions of one channel are converted together: most of a long one is in the next as well. */
  #texts(answers: readonly Incoming[]): Map<Payload, WireText> {
    const byChannel = new Map<string, Set<Payload>>();
    for (const { meta } of answers) {
      const { carried = {}, root } = meta as CarriedMeta;
      for (const number of [...Object.values(carried), ...(root === undefined ? [] : [root])]) {
        const { channel, payload } = this.#valueOf(number);
        const versions = byChannel.get(channel);
        if (versions) versions.add(payload);
        else byChannel.set(channel, new Set([payload]));
      }
    }
    return new Map([...byChannel.values()].flatMap((versions) => [...wireTexts(versions)]));
  }

  #valueOf(number: number): { channel: string; payload: Payload } {
    const value = this.#values[number];
    if (!value) throw new ProtocolError(`There is no value ${number}.`);
    return value;
  }
}
