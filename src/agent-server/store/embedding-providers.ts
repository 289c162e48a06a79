/** How one provider of embeddings is asked over HTTP. */
export type EmbeddingProvider = {
  /** The variable that holds the key; none for a model server without one. */
  keyName: string | undefined;
  /** Wins over `baseUrl`, for proxies and servers that speak the same language. */
  baseUrlName: string;
  baseUrl: string;
  maxTexts: number;
  request(input: EmbeddingInput): { path: string; headers: Record<string, string>; body: unknown };
  /** The vectors in the order of the texts; undefined when the answer is of another shape. */
  vectors(answer: unknown): unknown;
};

export type EmbeddingInput = { model: string; texts: readonly string[]; dims: number; key: string };

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

type Numbered = { index: number; embedding: unknown };
const numbered = (answer: unknown) =>
  (answer as { data?: Numbered[] }).data
    ?.toSorted((a, b) => a.index - b.index)
    .map(({ embedding }) => embedding);

/** By the names people write before the colon, as in `openai:text-embedding-3-small`. */
export const embeddingProviders: Readonly<Record<string, EmbeddingProvider>> = {
  openai: {
    keyName: "OPENAI_API_KEY",
    baseUrlName: "OPENAI_BASE_URL",
    baseUrl: "https://api.openai.com/v1",
    maxTexts: 2_048,
    request: ({ model, texts, dims, key }) => ({
      path: "/embeddings",
      headers: bearer(key),
      // Only this family accepts a request for vectors shorter than its default.
      body: {
        model,
        input: texts,
        encoding_format: "float",
        ...(model.startsWith("text-embedding-3") ? { dimensions: dims } : {}),
      },
    }),
    vectors: numbered,
  },
  mistralai: {
    keyName: "MISTRAL_API_KEY",
    baseUrlName: "MISTRAL_BASE_URL",
    baseUrl: "https://api.mistral.ai/v1",
    maxTexts: 64,
    request: ({ model, texts, key }) => ({
      path: "/embeddings",
      headers: bearer(key),
      body: { model, input: texts },
    }),
    vectors: numbered,
  },
  cohere: {
    keyName: "COHERE_API_KEY",
    baseUrlName: "COHERE_BASE_URL",
    baseUrl: "https://api.cohere.com",
    maxTexts: 96,
    request: ({ model, texts, key }) => ({
      path: "/v2/embed",
      headers: bearer(key),
      body: { model, texts, input_type: "search_document", embedding_types: ["float"] },
    }),
    vectors: (answer) => (answer as { embeddings?: { float?: unknown } }).embeddings?.float,
  },
  google_genai: {
    keyName: "GOOGLE_API_KEY",
    baseUrlName: "GOOGLE_GENAI_BASE_URL",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    maxTexts: 100,
    request: ({ model, texts, key }) => {
      const name = model.startsWith("models/") ? model : `models/${model}`;
      const requests = texts.map((text) => ({ model: name, content: { parts: [{ text }] } }));
      return {
        path: `/${name}:batchEmbedContents`,
        headers: { "x-goog-api-key": key },
        body: { requests },
      };
    },
    vectors: (answer) =>
      (answer as { embeddings?: { values: unknown }[] }).embeddings?.map(({ values }) => values),
  },
  ollama: {
    keyName: undefined,
    baseUrlName: "OLLAMA_BASE_URL",
    baseUrl: "http://127.0.0.1:11434",
    maxTexts: 64,
    request: ({ model, texts }) => ({ path: "/api/embed", headers: {}, body: { model, input: texts } }),
    vectors: (answer) => (answer as { embeddings?: unknown }).embeddings,
  },
};
