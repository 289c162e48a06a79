/** US dollars per million tokens. */
export type ModelPrice = { input: number; output: number; cacheRead?: number; cacheWrite?: number };

/** Undefined for a model whose price is not known: no price is better than a wrong one. */
export type PriceOf = (provider: string | null, model: string) => ModelPrice | undefined;

/** A price of the operator's own. `match` is the name of a model, or its beginning with a `*` behind. */
export type OwnPrice = { match: string; provider?: string | undefined; price: ModelPrice };

/**
 * List prices of widely used models as published in November 2026, longest name first where one begins with
 * another. A client that knows better sends its costs in `usage_metadata`, and those stand. Left out: models whose
 * price depends on the length of the prompt.
 */
const prices: readonly { provider: RegExp; model: RegExp; price: ModelPrice }[] = [
  openai(/^gpt-5-nano/, 0.05, 0.4, 0.005),
  openai(/^gpt-5-mini/, 0.25, 2, 0.025),
  openai(/^gpt-5\.4-nano/, 0.2, 1.25, 0.02),
  openai(/^gpt-5\.4-mini/, 0.75, 4.5, 0.075),
  openai(/^gpt-5\.4(?!\d|-pro)/, 2.5, 15, 0.25),
  openai(/^gpt-5\.[23](?!\d|-pro)/, 1.75, 14, 0.175),
  openai(/^gpt-5(?:\.1)?(?![\d.]|-pro)/, 1.25, 10, 0.125),
  openai(/^gpt-4\.1-nano/, 0.1, 0.4, 0.025),
  openai(/^gpt-4\.1-mini/, 0.4, 1.6, 0.1),
  openai(/^gpt-4\.1/, 2, 8, 0.5),
  openai(/^gpt-4o-mini/, 0.15, 0.6, 0.075),
  openai(/^gpt-4o/, 2.5, 10, 1.25),
  openai(/^gpt-4-turbo/, 10, 30),
  openai(/^gpt-4/, 30, 60),
  openai(/^gpt-3\.5-turbo/, 0.5, 1.5),
  openai(/^o4-mini/, 1.1, 4.4, 0.275),
  openai(/^o3-mini/, 1.1, 4.4, 0.55),
  openai(/^o3/, 2, 8, 0.5),
  openai(/^o1-mini/, 1.1, 4.4, 0.55),
  openai(/^o1/, 15, 60, 7.5),
  openai(/^text-embedding-3-small/, 0.02, 0),
  openai(/^text-embedding-3-large/, 0.13, 0),
  anthropic(/^claude-(fable|mythos)-5(?!-[1-9])/, 10, 50),
  anthropic(/^claude-opus-(4-[5-9]|5)(?!-5)(?!\d)/, 5, 25),
  anthropic(/^claude-sonnet-5/, 2, 10),
  anthropic(/^claude-(opus-4(?!-[5-9])|3-opus)/, 15, 75),
  anthropic(/^claude-(sonnet-4|3-7-sonnet|3-5-sonnet|3-sonnet)/, 3, 15),
  anthropic(/^claude-haiku-4/, 1, 5),
  anthropic(/^claude-3-5-haiku/, 0.8, 4),
  anthropic(/^claude-3-haiku/, 0.25, 1.25),
  google(/^gemini-2\.5-pro/, 1.25, 10),
  google(/^gemini-2\.5-flash-lite/, 0.1, 0.4),
  google(/^gemini-2\.5-flash/, 0.3, 2.5),
  google(/^gemini-2\.0-flash/, 0.1, 0.4),
  { provider: /mistral/, model: /^mistral-large/, price: { input: 2, output: 6 } },
  { provider: /mistral/, model: /^mistral-small/, price: { input: 0.1, output: 0.3 } },
  { provider: /deepseek/, model: /^deepseek-chat/, price: { input: 0.27, output: 1.1 } },
];

/** The operator's own prices in their order, then the list above. */
export function priceTable(own: readonly OwnPrice[] = []): PriceOf {
  return (provider, model) => {
    const full = model.toLowerCase();
    // Gateways write `provider/model`.
    const name = full.replace(/^(?:models\/|[a-z0-9_-]+\/)/, "");
    const from = provider?.toLowerCase();
    const rule =
      own.find((each) => isFrom(each, from) && (isNamed(each, full) || isNamed(each, name))) ??
      prices.find((each) => each.model.test(name) && (from === undefined || each.provider.test(from)));
    return rule?.price;
  };
}

function isFrom({ provider }: OwnPrice, from: string | undefined): boolean {
  return provider === undefined || provider.toLowerCase() === from;
}

function isNamed({ match }: OwnPrice, model: string): boolean {
  const wanted = match.toLowerCase();
  return wanted.endsWith("*") ? model.startsWith(wanted.slice(0, -1)) : model === wanted;
}

function openai(model: RegExp, input: number, output: number, cacheRead?: number) {
  return {
    provider: /openai|azure/,
    model,
    price: { input, output, ...(cacheRead === undefined ? {} : { cacheRead }) },
  };
}

function anthropic(model: RegExp, input: number, output: number) {
  const price = { input, output, cacheRead: times(input, 0.1), cacheWrite: times(input, 1.25) };
  return { provider: /anthropic|bedrock|vertex/, model, price };
}

function google(model: RegExp, input: number, output: number) {
  return { provider: /google|vertex|gemini/, model, price: { input, output, cacheRead: times(input, 0.25) } };
}

/** To the sixth place: a product of floating-point numbers has spurious digits. */
function times(price: number, factor: number): number {
  return Number((price * factor).toFixed(6));
}
