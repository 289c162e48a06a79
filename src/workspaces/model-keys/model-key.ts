import { AppError } from "../../platform/errors.ts";

/** A maker of models whose key a workspace may keep. */
export type ModelProvider = {
  provider: string;
  /** What people call it. */
  name: string;
  /** The model used when only the provider is named. */
  defaultModel: string;
  /** Whether the server has a key in its environment, which every workspace may use. */
  onServer: boolean;
};

/** What is shown of a stored key; the key itself is never returned. */
export type ModelKey = { provider: string; hint: string; updated_by: string | null; updated_at: Date };

const shownCharacters = 4;

/** Enough to recognize a long key by, and nothing of a short one. */
export function hintOf(key: string): string {
  return key.length >= 20 ? `…${key.slice(-shownCharacters)}` : "…";
}

export function unknownProvider(provider: string, known: readonly ModelProvider[]): AppError {
  return new AppError({
    code: "model_key.unknown_provider",
    kind: "not_found",
    message: `There is no model provider ${provider.slice(0, 40)}. There are: ${known.map((each) => each.provider).join(", ")}.`,
  });
}

export function modelKeyNotFound(provider: string): AppError {
  return new AppError({
    code: "model_key.not_found",
    kind: "not_found",
    message: `This workspace has no key for ${provider}.`,
  });
}
