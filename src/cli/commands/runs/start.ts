import { z } from "zod";
import { AppError } from "../../../platform/errors.ts";
import * as answers from "../../client/answers.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { openSession } from "../../client/session.ts";
import { waitUnlessInterrupted } from "../../terminal/interruption.ts";
import { suggestion } from "../../terminal/near-names.ts";
import type { Output } from "../../terminal/output.ts";
import { readInput } from "../../terminal/prompt.ts";
import { plainText } from "../../terminal/text.ts";
import type { StartOptions } from "./options.ts";
import { agentServerPath, listAssistants } from "./runs.ts";

const messagePart = z.tuple([
  z.looseObject({ id: z.string().nullish(), type: z.string(), content: z.unknown() }),
  z.unknown(),
]);
const failed = z.looseObject({ error: z.string().optional(), message: z.string().optional() });

export async function startRun(given: string | undefined, options: StartOptions): Promise<void> {
  const input = parseInput(options.input === "-" ? await readInput() : options.input);
  const { api, output } = await openSession(options);
  const base = await agentServerPath(api, options.deployment);
  const assistant = await chooseAssistant(api, base, given);
  const thread =
    options.thread ?? (await api.call(answers.thread, "POST", `${base}/threads`, { body: {} })).thread_id;
  const goesOn = `The run goes on; \`treadle runs${options.deployment ? ` ${options.deployment}` : ""}\` shows it.`;
  const printer = createPrinter(output);
  await waitUnlessInterrupted({ timeoutMs: Number.POSITIVE_INFINITY, goesOn }, async (signal) => {
    const body = {
      assistant_id: assistant,
      input,
      stream_mode: output.json ? ["values", "updates"] : ["messages-tuple", "updates"],
      on_disconnect: "continue",
    };
    const path = `${base}/threads/${thread}/runs/stream`;
    for await (const { event, data } of api.events("POST", path, { body, signal })) {
      const value: unknown = JSON.parse(data);
      output.data({ event, data: value });
      printer.take(event, value);
    }
  });
  printer.end();
  if (!output.json) {
    output.note(output.paint("dim", `thread ${thread}; go on with --thread ${thread}`));
  }
}

export function parseInput(text: string): Record<string, unknown> {
  if (/^\s*\{/.test(text)) {
    try {
      return JSON.parse(text) as Record<string, unknown>;
    } catch (error) {
      throw new AppError({
        code: "client.input_invalid",
        kind: "invalid",
        message: `--input starts like a JSON object but is none: ${String(error)}`,
        cause: error,
      });
    }
  }
  return { messages: [{ role: "user", content: text }] };
}

async function chooseAssistant(api: ApiClient, base: string, given: string | undefined): Promise<string> {
  const all = await listAssistants(api, base);
  const found = all.find((each) => [each.assistant_id, each.graph_id, each.name].includes(given ?? ""));
  const [only] = all;
  if (found) return found.assistant_id;
  if (given === undefined && only && new Set(all.map(({ graph_id }) => graph_id)).size === 1)
    return only.assistant_id;
  const names = [...new Set(all.map(({ graph_id }) => graph_id))];
  throw new AppError({
    code: "client.not_found",
    kind: "not_found",
    message: `${given === undefined ? "Name an assistant." : `There is no assistant ${given}.${suggestion(given, names)}`} There are: ${names.join(", ")}.`,
  });
}

/** Text as it comes; a tool's call and result in a line of its own. */
function createPrinter(output: Output) {
  const shown = new Map<string, string>();
  let open = false;
  const write = (text: string) => {
    if (output.json || text === "") return;
    process.stdout.write(text);
    open = !text.endsWith("\n");
  };
  const line = (text: string) => write(`${open ? "\n" : ""}${text}\n`);
  return {
    take(event: string, value: unknown): void {
      const name = event.split("|")[0];
      if (name === "error") throw runFailed(value);
      if (name === "updates" && typeof value === "object" && value !== null && "__interrupt__" in value) {
        line(
          output.paint("yellow", `waits for an answer: ${plainText(JSON.stringify(value.__interrupt__))}`),
        );
      }
      const parsed = name === "messages" ? messagePart.safeParse(value) : undefined;
      if (!parsed?.success) return;
      const [message] = parsed.data;
      const text = plainText(textOf(message.content));
      if (message.type === "tool") line(output.paint("dim", `⚙ ${text}`));
      if (!message.type.toLowerCase().startsWith("ai")) return;
      // A whole message may follow the pieces it was streamed in.
      const id = message.id ?? "";
      const before = shown.get(id) ?? "";
      if (message.type === "ai" && before !== "" && text.startsWith(before)) write(text.slice(before.length));
      else write(text);
      shown.set(id, before + text);
    },
    end(): void {
      if (open) write("\n");
    },
  };
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
