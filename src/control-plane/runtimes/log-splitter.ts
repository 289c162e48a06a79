/** Longer lines are cut: what follows of them is passed over. */
export const maxLineBytes = 64 * 1024;

const newline = 10;

export type SplitLine = { text: string; cut: boolean };

/**
 * Cuts what a server writes into lines, with bounded memory for any output. `open` is how many bytes of an unfinished
 * line it holds: they have not been handed out yet.
 */
export class LogSplitter {
  #pending: Buffer[] = [];
  #skipping = false;
  open = 0;

  push(chunk: Buffer): SplitLine[] {
    const lines: SplitLine[] = [];
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      this.#add(chunk.subarray(from, end), lines);
      this.#finish(lines);
      from = end + 1;
    }
    this.#add(chunk.subarray(from), lines);
    return lines;
  }

  /** The end of what was written, which need not be the end of a line. */
  flush(): SplitLine[] {
    const lines: SplitLine[] = [];
    this.#finish(lines);
    return lines;
  }

  #add(piece: Buffer, lines: SplitLine[]): void {
    if (this.#skipping || piece.length === 0) return;
    // A copy: the buffer it is part of is used again.
    this.#pending.push(Buffer.from(piece.subarray(0, maxLineBytes)));
    this.open += piece.length;
    if (this.open <= maxLineBytes) return;
    lines.push({ text: Buffer.concat(this.#pending).subarray(0, maxLineBytes).toString("utf8"), cut: true });
    this.#clear(true);
  }

  #finish(lines: SplitLine[]): void {
    if (this.open > 0) lines.push({ text: Buffer.concat(this.#pending).toString("utf8"), cut: false });
    this.#clear(false);
  }

  #clear(skipping: boolean): void {
    this.#pending = [];
    this.open = 0;
    this.#skipping = skipping;
  }
}
