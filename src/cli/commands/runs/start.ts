import { AppError } from "../../../platform/errors.ts";
import * as answers from "../../client/answers.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { openSession } from "../../client/session.ts";
import { waitUnlessInterrupted } from "../../terminal/interruption.ts";
import { suggestion } from "../../terminal/near-names.ts";
import { ask, canAsk, readInput } from "../../terminal/prompt.ts";
import { parseInput, parseResume } from "./input.ts";
import type { StartOptions } from "./options.ts";
import { RunPrinter } from "./run-printer.ts";
import { agentServerPath, listAssistants } from "./runs.ts";

/** What a run begins with: an input, or the answer to what its thread waits for. */
type Beginning = { input: Record<string, unknown> } | { command: { resume: unknown } };

export async function startRun(given: string | undefined, options: StartOptions): Promise<void> {
  let next: Beginning | null = await beginningOf(options);
  const { api, output } = await openSession(options);
  const base = await agentServerPath(api, options.deployment);
  const assistant = await chooseAssistant(api, base, given);
  const thread =
    options.thread ?? (await api.call(answers.thread, "POST", `${base}/threads`, { body: {} })).thread_id;
  const goesOn = `The run goes on; \`treadle runs${options.deployment ? ` ${options.deployment}` : ""}\` shows it.`;
  let waits = false;
  while (next !== null) {
    const body = {
      assistant_id: assistant,
      ...next,
      stream_mode: output.json ? ["values", "updates"] : ["messages-tuple", "updates"],
      on_disconnect: "continue",
    };
    const printer = new RunPrinter(output);
    await waitUnlessInterrupted({ timeoutMs: Number.POSITIVE_INFINITY, goesOn }, async (signal) => {
      const path = `${base}/threads/${thread}/runs/stream`;
      for await (const { event, data } of api.events("POST", path, { body, signal })) {
        const value: unknown = JSON.parse(data);
        output.data({ event, data: value });
        printer.take(event, value);
      }
    });
    printer.end();
    waits = printer.waits;
    next = waits && !output.json && canAsk() ? { command: { resume: await askForAnswer() } } : null;
  }
  if (output.json) return;
  const from = options.deployment ? ` -d ${options.deployment}` : "";
  const again = `treadle runs start ${given ?? assistant}${from} --thread ${thread}`;
  const goOn = waits ? `answer with: ${again} --resume ANSWER` : `go on with: ${again} --input TEXT`;
  output.note(output.paint("dim", `thread ${thread}; ${goOn}`));
}

async function askForAnswer(): Promise<unknown> {
  return parseResume(await ask("Answer, as text or JSON (Ctrl-C leaves it waiting): "));
}

async function beginningOf({ input, resume, thread }: StartOptions): Promise<Beginning> {
  if (resume !== undefined) {
    if (input !== undefined) throw wrongOptions("Give --input or --resume, not both.");
    if (thread === undefined) throw wrongOptions("--resume needs --thread: the thread that waits.");
    return { command: { resume: parseResume(resume === "-" ? await readInput() : resume) } };
  }
  if (input === undefined)
    throw wrongOptions("Give --input, or --thread and --resume to answer a run that waits.");
  return { input: parseInput(input === "-" ? await readInput() : input) };
}

function wrongOptions(message: string): AppError {
  return new AppError({ code: "client.input_invalid", kind: "invalid", message });
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
