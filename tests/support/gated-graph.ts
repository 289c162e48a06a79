import { once } from "node:events";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { loadServerKit } from "../../src/agent-server/graphs/javascript/graph-kit.ts";
import {
  type CompiledGraph,
  fixedGraph,
  type LoadedGraph,
} from "../../src/agent-server/graphs/javascript/loaded-graph.ts";

/** Doors that open once, by the text they are named after. */
export class Gates {
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();

  open(name: string): void {
    this.#gate(name).resolve();
  }

  async pass(name: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const waiting: Promise<unknown>[] = [this.#gate(name).promise];
    if (signal) waiting.push(once(signal, "abort").catch(() => undefined));
    await Promise.race(waiting);
    signal?.throwIfAborted();
  }

  #gate(name: string): PromiseWithResolvers<void> {
    const gate = this.#gates.get(name) ?? Promise.withResolvers<void>();
    this.#gates.set(name, gate);
    return gate;
  }
}

/** Answers in two halves; where its input is "hold …", the second comes when the test lets it. */
class GatedModel extends BaseChatModel {
  readonly #gates: Gates;

  constructor(gates: Gates) {
    super({});
    this.#gates = gates;
  }

  override _llmType() {
    return "gated";
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    let whole = chunkOf("");
    for await (const chunk of this._streamResponseChunks(messages, options)) whole = whole.concat(chunk);
    return { generations: [whole] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
  ): AsyncGenerator<ChatGenerationChunk> {
    const said = messages.at(-1)?.text ?? "";
    yield chunkOf("You said ");
    if (said.startsWith("hold ")) await this.#gates.pass(said, options.signal);
    yield chunkOf(`"${said}" after ${messages.length - 1}.`);
  }
}

function chunkOf(text: string): ChatGenerationChunk {
  return new ChatGenerationChunk({ text, message: new AIMessageChunk(text) });
}

/** A chat whose answers stop half-way until the gate named like the message opens. */
export async function gatedGraph(gates: Gates): Promise<LoadedGraph> {
  const model = new GatedModel(gates);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("answer", async ({ messages }, config) => ({ messages: [await model.invoke(messages, config)] }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile();
  const source = { graphId: "gated", description: undefined, file: undefined, exportName: "gated" };
  return fixedGraph(source, graph as unknown as CompiledGraph, await loadServerKit());
}
