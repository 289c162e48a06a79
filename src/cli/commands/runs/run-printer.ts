import { z } from "zod";
import { AppError } from "../../../platform/errors.ts";
import type { Output } from "../../terminal/output.ts";
import { plainText } from "../../terminal/text.ts";

const messagePart = z.tuple([
  z.looseObject({ id: z.string().nullish(), type: z.string(), content: z.unknown() }),
  z.unknown(),
]);
const failed = z.looseObject({ error: z.string().optional(), message: z.string().optional() });

/** What a run writes, as it comes; a tool's call and result in a line of its own. */
export class RunPrinter {
  readonly #output: Output;
  readonly #shown = new Map<string, string>();
  #open = false;
  #waits = false;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Whether the run stopped to ask something. */
  get waits(): boolean {
    return this.#waits;
  }

  take(event: string, value: unknown): void {
    const name = event.split("|")[0];
    if (name === "error") throw runFailed(value);
    if (name === "updates" && typeof value === "object" && value !== null && "__interrupt__" in value) {
      this.#waits = true;
      const asked = plainText(JSON.stringify(value.__interrupt__));
      this.#line(this.#output.paint("yellow", `waits for an answer: ${asked}`));
    }
    const parsed = name === "messages" ? messagePart.safeParse(value) : undefined;
    if (parsed?.success) this.#message(parsed.data[0]);
  }

  end(): void {
    if (this.#open) this.#write("\n");
  }

  #message({ id, type, content }: z.infer<typeof messagePart>[0]): void {
    const text = plainText(textOf(content));
    if (type === "tool") this.#line(this.#output.paint("dim", `⚙ ${text}`));
    if (!type.toLowerCase().startsWith("ai")) return;
    // A whole message may follow the pieces it was streamed in.
    const before = this.#shown.get(id ?? "") ?? "";
    if (type === "ai" && before !== "" && text.startsWith(before)) this.#write(text.slice(before.length));
    else this.#write(text);
    this.#shown.set(id ?? "", before + text);
  }

  #line(text: string): void {
    this.#write(`${this.#open ? "\n" : ""}${text}\n`);
  }

  #write(text: string): void {
    if (this.#output.json || text === "") return;
    process.stdout.write(text);
    this.#open = !text.endsWith("\n");
  }
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: unknown) =>
      typeof part === "object" && part !== null && "text" in part ? String(part.text) : "",
    )
    .join("");
}

function runFailed(value: unknown): AppError {
  const parsed = failed.safeParse(value);
  const reason = parsed.success
    ? [parsed.data.error, parsed.data.message].filter(Boolean).join(": ")
    : JSON.stringify(value);
  return new AppError({
    code: "client.run_failed",
    kind: "conflict",
    message: `The run failed: ${plainText(reason)}`,
  });
}
