import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { embeddingProviders } from "./embedding-providers.ts";
import { ItemEmbedder } from "./item-embedder.ts";
import { providerEmbedder } from "./provider-embedder.ts";

type Asked = { path: string; headers: IncomingMessage["headers"]; body: Record<string, unknown> };
type Answer = { status?: number; body: unknown };

let server: Server;
let url: string;
let asked: Asked[];
let answer: (request: Asked) => Answer;

beforeAll(async () => {
  server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Asked["body"];
    const request = { path: incoming.url ?? "", headers: incoming.headers, body };
    asked.push(request);
    const { status = 200, body: answered } = answer(request);
    outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answered));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  asked = [];
});

/** A vector per text that distinguishes them. */
const vectorOf = (text: string) => [text.length, 1];

describe("a provider by name", () => {
  it.each([
    [
      "openai:text-embedding-3-small",
      { OPENAI_API_KEY: "secret", OPENAI_BASE_URL: "/v1" },
      "/v1/embeddings",
      ({ input }: { input: string[] }) => ({
        data: input.map((text, index) => ({ index, embedding: vectorOf(text) })).reverse(),
      }),
    ],
    [
      "mistralai:mistral-embed",
      { MISTRAL_API_KEY: "secret", MISTRAL_BASE_URL: "/v1/" },
      "/v1/embeddings",
      ({ input }: { input: string[] }) => ({
        data: input.map((text, index) => ({ index, embedding: vectorOf(text) })),
      }),
    ],
    [
      "cohere:embed-v4.0",
      { COHERE_API_KEY: "secret", COHERE_BASE_URL: "" },
      "/v2/embed",
      ({ texts }: { texts: string[] }) => ({ embeddings: { float: texts.map(vectorOf) } }),
    ],
    [
      "google_genai:gemini-embedding-001",
      { GOOGLE_API_KEY: "secret", GOOGLE_GENAI_BASE_URL: "/v1beta" },
      "/v1beta/models/gemini-embedding-001:batchEmbedContents",
      ({ requests }: { requests: { content: { parts: { text: string }[] } }[] }) => ({
        embeddings: requests.map(({ content }) => ({ values: vectorOf(content.parts[0]!.text) })),
      }),
    ],
    [
      "ollama:nomic-embed-text:latest",
      { OLLAMA_BASE_URL: "" },
      "/api/embed",
      ({ input }: { input: string[] }) => ({ embeddings: input.map(vectorOf) }),
    ],
  ])("%s is asked in its own language", async (name, environment, path, embed) => {
    answer = ({ body }) => ({ body: embed(body as never) });
    const local = Object.fromEntries(
      Object.entries(environment).map(([key, value]) => [key, key.endsWith("_URL") ? url + value : value]),
    );
    const texts = ["a", "bcd", "ef"];
    expect(await providerEmbedder(name, 2, local)(texts)).toEqual([
      [1, 1],
      [3, 1],
      [2, 1],
    ]);
    expect(asked.map((request) => request.path)).toEqual([path]);
    const sent = JSON.stringify(asked);
    expect(sent).toContain(name.slice(name.indexOf(":") + 1));
    if (!name.startsWith("ollama")) expect(sent).toContain("secret");
  });

  it("is asked for the number of dimensions where the model can choose", async () => {
    answer = ({ body }) => ({
      body: { data: (body.input as string[]).map((_, index) => ({ index, embedding: [1, 0, 0] })) },
    });
    const environment = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: url };
    await providerEmbedder("openai:text-embedding-3-large", 3, environment)(["a"]);
    await providerEmbedder("openai:text-embedding-ada-002", 3, environment)(["a"]);
    expect(asked.map(({ body }) => body.dimensions)).toEqual([3, undefined]);
  });

  it("is asked in portions", async () => {
    answer = ({ body }) => ({ body: { embeddings: (body.input as string[]).map(vectorOf) } });
    const texts = Array.from({ length: 150 }, (_, index) => "x".repeat(index + 1));
    const vectors = await providerEmbedder("ollama:m", 2, { OLLAMA_BASE_URL: url })(texts);
    expect(vectors).toEqual(texts.map(vectorOf));
    expect(asked.map(({ body }) => (body.input as string[]).length)).toEqual([64, 64, 22]);
  });

  it("that refuses or talks nonsense is named, without its key", async () => {
    const environment = { OPENAI_API_KEY: "very-secret", OPENAI_BASE_URL: url };
    const embed = providerEmbedder("openai:text-embedding-3-small", 2, environment);
    const embedder = new ItemEmbedder({ embed, dims: 2 });
    answer = () => ({ status: 401, body: { error: "no such key" } });
    const refused = await embedder.embedQuery("a").catch((error: Error) => error.message);
    expect(refused).toMatch(/answered 401: .*no such key/);
    expect(refused).not.toContain("very-secret");
    answer = () => ({ body: { data: [{ index: 0, embedding: ["x"] }] } });
    await expect(embedder.embedQuery("a")).rejects.toThrow(/has no vectors/);
    answer = () => ({ body: { data: [{ index: 0, embedding: [1, 2, 3] }] } });
    await expect(embedder.embedQuery("a")).rejects.toThrow(/3 numbers, but store.index.dims is 2/);
  });
});

describe("what cannot be asked", () => {
  it.each([
    ["unknown:model", {}, /no provider "unknown".*openai, mistralai, cohere, google_genai, ollama/],
    ["constructor:model", {}, /no provider "constructor"/],
    ["openai", {}, /names no model/],
    ["openai:text-embedding-3-small", {}, /needs the variable OPENAI_API_KEY/],
  ])("%s is refused with what to do", (name, environment, message) => {
    expect(() => providerEmbedder(name, 2, environment)).toThrow(message);
  });

  it("every provider but the local one has a key", () => {
    const without = Object.entries(embeddingProviders).filter(([, { keyName }]) => !keyName);
    expect(without.map(([name]) => name)).toEqual(["ollama"]);
  });
});
