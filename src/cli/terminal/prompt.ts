import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { AppError } from "../../platform/errors.ts";

export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Asks on stderr, so that a pipe gets results alone. */
export async function ask(question: string): Promise<string> {
  return readAnswer(question, process.stderr);
}

/** The answer is not shown. */
export async function askSecret(question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // The question comes once the terminal shows nothing any more: a quick hand, or a paste, would be seen.
  const answer = await readAnswer("", silent, () => process.stderr.write(question));
  process.stderr.write("\n");
  return answer;
}

async function readAnswer(
  question: string,
  output: NodeJS.WritableStream,
  onListening?: () => void,
): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  onListening?.();
  const aborted = new Promise<never>((_resolve, reject) => {
    const cancelled = () =>
      reject(
        new AppError({
          code: "client.interrupted",
          kind: "conflict",
          message: "Stopped; nothing was changed.",
        }),
      );
    lines.once("SIGINT", cancelled);
    lines.once("close", cancelled);
  });
  try {
    return (await Promise.race([lines.question(question), aborted])).trim();
  } finally {
    aborted.catch(() => undefined);
    lines.close();
  }
}

/** Everything that a pipe sends, without the last line break. */
export async function readInput(): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of process.stdin) parts.push(part as Buffer);
  return Buffer.concat(parts)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}
