import type { Duplex } from "node:stream";
import { errorMessage } from "../../../platform/errors.ts";
import { OutputLines } from "./output-lines.ts";

export type Pulse = {
  /** Milliseconds since the event loop last showed that it turns. */
  loopMs: number;
};

type Message = {
  pong?: number;
  loop?: number;
  dump?: number;
  stack?: string;
  interrupted?: number;
  found?: boolean;
};

const maxStack = 64_000;

/** A separate line to a thread of the process that responds even while the event loop is blocked. */
export class PythonControl {
  readonly #socket: Duplex;
  readonly #pings = new Map<number, (pulse: Pulse) => void>();
  readonly #dumps = new Map<number, (stack: string) => void>();
  #last = 0;

  constructor(socket: Duplex, onFault: (problem: string) => void) {
    this.#socket = socket;
    const lines = new OutputLines((line) => {
      try {
        this.#receive(JSON.parse(line) as Message);
      } catch (error) {
        onFault(`The control line is not JSON: ${errorMessage(error)}`);
      }
    }, maxStack);
    socket.on("data", (chunk: Buffer) => lines.push(chunk));
  }

  /** Never resolves when the process holds all its threads up. */
  ping(): Promise<Pulse> {
    return this.#ask(this.#pings, (number) => ({ ping: number }));
  }

  /** Where its threads stand. */
  dump(): Promise<string> {
    return this.#ask(this.#dumps, (number) => ({ dump: number }));
  }

  /** Raises in the thread that runs a synchronous node of the call. */
  interrupt(call: number): void {
    this.#send({ interrupt: call });
  }

  #ask<Answer>(asked: Map<number, (answer: Answer) => void>, message: (number: number) => object) {
    this.#last += 1;
    const number = this.#last;
    return new Promise<Answer>((resolve) => {
      asked.set(number, resolve);
      this.#send(message(number));
    });
  }

  #send(message: object): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  #receive({ pong, loop = 0, dump, stack = "" }: Message): void {
    if (pong !== undefined) take(this.#pings, pong)?.({ loopMs: loop });
    if (dump !== undefined) take(this.#dumps, dump)?.(stack);
  }
}

function take<Value>(map: Map<number, Value>, key: number): Value | undefined {
  const value = map.get(key);
  map.delete(key);
  return value;
}
