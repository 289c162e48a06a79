import { StringDecoder } from "node:string_decoder";

/** A line longer than this is cut; what a program prints must not fill the memory of the server. */
const longestLine = 8_192;

/** Makes lines of what a program prints. */
export class OutputLines {
  readonly #decoder = new StringDecoder("utf8");
  readonly #onLine: (line: string) => void;
  readonly #longest: number;
  #rest = "";
  #isCut = false;

  constructor(onLine: (line: string) => void, longest = longestLine) {
    this.#onLine = onLine;
    this.#longest = longest;
  }

  push(chunk: Buffer): void {
    const parts = this.#decoder.write(chunk).split("\n");
    for (const [index, part] of parts.entries()) {
      this.#add(part);
      if (index < parts.length - 1) this.end();
    }
  }

  /** What came last had no line end. */
  end(): void {
    const line = this.#rest.replace(/\r$/, "");
    if (line !== "") this.#onLine(this.#isCut ? `${line}…` : line);
    this.#rest = "";
    this.#isCut = false;
  }

  #add(part: string): void {
    const room = this.#longest - this.#rest.length;
    if (part.length > room) this.#isCut = true;
    this.#rest += part.slice(0, room);
  }
}
