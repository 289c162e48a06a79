import type { IncomingMessage, ServerResponse } from "node:http";
import { type HttpListener, startHttpListener } from "./http-listener.ts";

export type ModelCall = { authorization: string | undefined; model: string; stream: boolean };

/** The chat completions of OpenAI's API as far as its client uses them: answers one sentence, whole or in pieces. */
export async function startOpenAiServer(answer: string): Promise<HttpListener & { calls: ModelCall[] }> {
  const calls: ModelCall[] = [];
  const listener = await startHttpListener(() => (request, response) => {
    void respond(request, response);
  });
  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = JSON.parse(Buffer.concat(parts).toString() || "{}") as { model: string; stream?: boolean };
    const stream = body.stream === true;
    calls.push({ authorization: request.headers.authorization, model: body.model, stream });
    const base = { id: "chatcmpl-1", created: 1_700_000_000, model: body.model };
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
    if (!stream) {
      const message = { role: "assistant", content: answer };
      const choices = [{ index: 0, message, finish_reason: "stop" }];
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ ...base, object: "chat.completion", choices, usage }));
      return;
    }
    response.setHeader("content-type", "text/event-stream");
    const send = (delta: object, finish_reason: string | null, more: object = {}) => {
      const choices = [{ index: 0, delta, finish_reason }];
      const chunk = { ...base, object: "chat.completion.chunk", choices, ...more };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    for (const word of answer.split(/(?<= )/)) send({ role: "assistant", content: word }, null);
    send({}, "stop");
    response.write(
      `data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", choices: [], usage })}\n\n`,
    );
    response.end("data: [DONE]\n\n");
  }
  return { ...listener, calls };
}
