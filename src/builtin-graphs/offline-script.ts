import { readToolWishes } from "./offline-intents.ts";
import { finishReply, type ReplyDraft, type ScriptedReply, type ScriptTurn } from "./offline-reply.ts";

export type ReasoningMode = "auto" | "always" | "never";
export type ScriptOptions = {
  voice: "agent" | "researcher";
  tools: readonly string[];
  reasoning: ReasoningMode;
};

/** The offline model's next reply: a pure function of the conversation. */
export function scriptReply(turns: readonly ScriptTurn[], options: ScriptOptions): ScriptedReply {
  const draft = options.voice === "researcher" ? researcherDraft(turns) : agentDraft(turns, options.tools);
  return finishReply(applyReasoningMode(draft, turns, options.reasoning), turns, options.voice);
}

/**
 * Reasoning makes the content a list of blocks instead of text, so by default it comes with tool calls and with
 * questions that ask for it, and short exchanges stay plain.
 */
function applyReasoningMode(
  draft: ReplyDraft,
  turns: readonly ScriptTurn[],
  mode: ReasoningMode,
): ReplyDraft {
  const { reasoning, ...rest } = draft;
  const wanted =
    mode === "always" ||
    (mode === "auto" && ((draft.calls?.length ?? 0) > 0 || asksForReasoning(lastHuman(turns))));
  return wanted
    ? { reasoning: reasoning ?? "I have what I need, so I can answer right away.", ...rest }
    : rest;
}

function asksForReasoning(text: string): boolean {
  return /\b(think|reason|reasoning|why|explain|compare|plan|step by step)\b/i.test(text);
}

function agentDraft(turns: readonly ScriptTurn[], tools: readonly string[]): ReplyDraft {
  const question = lastHuman(turns);
  const results = resultsSinceQuestion(turns);
  if (results.length > 0) return answerFromResults(results);
  const calls = readToolWishes(question).filter((wish) => tools.includes(wish.name));
  if (calls.length > 0) {
    const names = [...new Set(calls.map((call) => `\`${call.name}\``))].join(" and ");
    const reasoning = `The request is "${shorten(question)}". That is work for ${names}: I will call it and answer from what comes back.`;
    return { reasoning, calls };
  }
  return {
    reasoning: `The request is "${shorten(question)}". No tool fits it, so I will answer directly.`,
    text: plainAnswer(turns),
  };
}

function researcherDraft(turns: readonly ScriptTurn[]): ReplyDraft {
  const topic = lastHuman(turns);
  const results = resultsSinceQuestion(turns);
  if (results.length === 0) {
    const reasoning = `I was asked to research "${shorten(topic)}". First I will see what the notes say.`;
    return { reasoning, calls: [{ name: "search_notes", args: { query: topic } }] };
  }
  const findings = results.map((result) => result.text).join("\n");
  return {
    reasoning: "The notes are in; I will weigh them and write the summary.",
    text: `### Research: ${topic}\n\n${findings}\n\n**In short:** these are the offline notes on "${topic}"; with a real model and a search tool this is where sources would be compared.`,
  };
}

function answerFromResults(results: readonly ScriptTurn[]): ReplyDraft {
  const reasoning = `${results.length === 1 ? "The tool has" : `All ${results.length} tools have`} answered; I will put it together.`;
  if (results.length === 1) return { reasoning, text: describeResult(results[0]!) };
  return {
    reasoning,
    text: `Here is what I found:\n\n${results.map((result) => `- ${describeResult(result)}`).join("\n")}`,
  };
}

function describeResult(result: ScriptTurn): string {
  if (result.toolName === "calculate") return `The result is **${result.text}**.`;
  return result.text;
}

function plainAnswer(turns: readonly ScriptTurn[]): string {
  const question = lastHuman(turns);
  if (question.trim() === "") return "I did not get any text. Tell me what you need.";
  if (/^\s*(hi|hello|hey|good (morning|evening|day))\b/i.test(question)) {
    return `Hello! I am Treadle's built-in agent, running on the offline model: no key, no network. ${suggestions}`;
  }
  if (/\b(thanks|thank you)\b/i.test(question)) return "You are welcome. Is there anything else?";
  if (/\b(weather|forecast|temperature)\b/i.test(question))
    return "For which city? Ask for example: *what is the weather in Paris?*";
  if (/\b(summari[sz]e|recap|what (?:did|have) (?:i|we|you)|so far)\b/i.test(question)) return recap(turns);
  return helpfulAnswer(question, turns);
}

const suggestions =
  "Try *what is the weather in Paris and Rome*, *calculate (3 + 4) * 12*, *research durable execution*, *delete the test records*, which asks for your approval first, or *what is my account at GitHub*, once that is set up.";

function recap(turns: readonly ScriptTurn[]): string {
  const earlier = turns
    .slice(0, -1)
    .filter((turn) => turn.text.trim() !== "" && (turn.role === "human" || turn.role === "ai"));
  if (earlier.length === 0)
    return "This is the first message of our conversation, so there is nothing to look back on yet.";
  const lines = earlier.map(
    (turn) => `- **${turn.role === "human" ? "You" : "Assistant"}:** ${shorten(turn.text)}`,
  );
  return `So far in this thread:\n\n${lines.join("\n")}`;
}

function helpfulAnswer(question: string, turns: readonly ScriptTurn[]): string {
  const humanTurns = turns.filter((turn) => turn.role === "human").length;
  const place =
    humanTurns > 1
      ? ` This is message ${humanTurns} of our thread, and I have the earlier ones before me.`
      : "";
  return `You wrote: "${shorten(question)}".${place}

I am the **offline model**: I follow a script, need no key and no network, and answer the same way every time. For answers with knowledge behind them, choose a real model when you start the run:

\`\`\`ts
await client.runs.wait(threadId, "agent", {
  input: { messages: [{ role: "user", content: ${JSON.stringify(shorten(question))} }] },
  config: { configurable: { model_name: "openai/gpt-5-mini" } },
});
\`\`\`

${suggestions}`;
}

export function lastHuman(turns: readonly ScriptTurn[]): string {
  return turns.findLast((turn) => turn.role === "human")?.text ?? "";
}

/** Results a tool gave after the person's last message: an earlier assistant's tools are history. */
function resultsSinceQuestion(turns: readonly ScriptTurn[]): ScriptTurn[] {
  const asked = turns.findLastIndex((turn) => turn.role === "human");
  return turns.slice(asked + 1).filter((turn) => turn.role === "tool");
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 140 ? `${line.slice(0, 139)}…` : line;
}
