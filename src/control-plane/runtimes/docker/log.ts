import { Transform, type TransformCallback } from "node:stream";

const headBytes = 8;

/** Docker sends stdout and stderr in one stream, each piece after eight bytes that name its kind and length. */
export class DockerLogSplitter extends Transform {
  #waiting: Buffer = Buffer.alloc(0);

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#waiting = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk]);
    while (this.#waiting.length >= headBytes) {
      const end = headBytes + this.#waiting.readUInt32BE(4);
      if (this.#waiting.length < end) break;
      this.push(this.#waiting.subarray(headBytes, end));
      this.#waiting = this.#waiting.subarray(end);
    }
    done();
  }
}
