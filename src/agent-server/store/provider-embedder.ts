import { embeddingProviders } from "./embedding-providers.ts";
import type { EmbedText } from "./item-embedder.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const timeoutMs = 60_000;
const longestReason = 300;

/** Asks a provider for embeddings; throws a sentence when the name or the environment does not allow it. */
export function providerEmbedder(name: string, dims: number, environment: Environment): EmbedText {
  const colon = name.indexOf(":");
  const providerName = colon === -1 ? name : name.slice(0, colon);
  const model = colon === -1 ? "" : name.slice(colon + 1);
  const provider = Object.hasOwn(embeddingProviders, providerName)
    ? embeddingProviders[providerName]
    : undefined;
  if (!provider) throw new Error(`there is no provider "${providerName}". ${whatIsSupported}`);
  if (model === "") throw new Error(`"${name}" names no model. ${whatIsSupported}`);
  const { keyName, baseUrlName, maxTexts } = provider;
  const key = keyName ? environment[keyName] : "";
  if (keyName && !key) throw new Error(`"${name}" needs the variable ${keyName}, which is not set`);
  const baseUrl = (environment[baseUrlName] || provider.baseUrl).replace(/\/+$/, "");

  const ask = async (texts: readonly string[]): Promise<number[][]> => {
    const { path, headers, body } = provider.request({ model, texts, dims, key: key! });
    const response = await fetch(baseUrl + path, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (!response.ok) {
      const reason = (await response.text()).slice(0, longestReason);
      throw new Error(`${baseUrl}${path} answered ${response.status}: ${reason}`);
    }
    const vectors = provider.vectors(await response.json());
    if (!isVectors(vectors)) throw new Error(`the response of ${baseUrl}${path} has no vectors`);
    return vectors;
  };

  return async (texts) => {
    const vectors: number[][] = [];
    for (let start = 0; start < texts.length; start += maxTexts) {
      vectors.push(...(await ask(texts.slice(start, start + maxTexts))));
    }
    return vectors;
  };
}

const whatIsSupported = `Name a function of the project, such as ./embed.ts:embed, or a model of ${Object.keys(
  embeddingProviders,
).join(", ")}, such as openai:text-embedding-3-small`;

function isVectors(value: unknown): value is number[][] {
  return (
    Array.isArray(value) && value.every((vector) => Array.isArray(vector) && vector.every(Number.isFinite))
  );
}
