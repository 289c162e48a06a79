import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { AppError } from "../../platform/errors.ts";

export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Asks on stderr, so that a pipe gets results alone. */
export async function ask(question: string): Promise<string> {
  return question_(question, process.stderr);
}

/** The answer is not shown. */
export async function askSecret(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const answer = await question_("", silent);
  process.stderr.write("\n");
  return answer;
}

async function question_(question: string, output: NodeJS.WritableStream): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true });
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

/** Everything a pipe brings, without the line break at its end. */
export async function readInput(): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of process.stdin) parts.push(part as Buffer);
  return Buffer.concat(parts)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}
