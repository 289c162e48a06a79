import { AppError, errorMessage } from "../../../platform/errors.ts";
import type { StoreTtl } from "../../store/item.ts";
import type { EmbedText, StoreIndex } from "../../store/item-embedder.ts";
import { providerEmbedder } from "../../store/provider-embedder.ts";
import { type ProjectConfig, type ProjectFile, parseModuleReference } from "../project-config.ts";
import { loadUserExport } from "./user-module.ts";

/** `store.ttl` of the project file. */
export function readStoreTtl({ store }: Pick<ProjectFile, "store">): StoreTtl {
  const ttl = store?.ttl;
  return {
    ...(ttl?.default_ttl ? { defaultTtlMinutes: ttl.default_ttl } : {}),
    ...(ttl?.refresh_on_read === undefined ? {} : { refreshOnRead: ttl.refresh_on_read }),
    ...(ttl?.sweep_interval_minutes ? { sweepIntervalMinutes: ttl.sweep_interval_minutes } : {}),
  };
}

/**
 * `store.index` of the project file. `embed` names a function of the project (texts in, vectors out), an object
 * with `embedDocuments`, or a model of a provider, which is asked over HTTP with the key in the environment. `given`:
 * the function, where another language has loaded it.
 */
export async function loadStoreIndex(
  config: ProjectConfig,
  environment: Readonly<Record<string, string | undefined>>,
  given?: EmbedText,
): Promise<StoreIndex | undefined> {
  const index = config.file.store?.index;
  if (!index?.embed) return undefined;
  const { embed, dims, fields } = index;
  if (!dims) throw unusable(config, "store.index.dims is missing: set the number of dimensions of a vector");
  const shape = { dims, ...(fields ? { fields } : {}) };
  if (given) return { embed: given, ...shape };
  if (!/\.[cm]?[jt]sx?(:|$)/.test(embed)) {
    try {
      return { embed: providerEmbedder(embed, dims, environment), ...shape };
    } catch (error) {
      throw unusable(config, errorMessage(error), error);
    }
  }
  const reference = parseModuleReference(embed);
  let value: unknown;
  try {
    ({ value } = await loadUserExport(reference, config.directory));
  } catch (error) {
    throw unusable(config, errorMessage(error), error);
  }
  const embedText = embedderOf(value);
  if (!embedText)
    throw unusable(config, "the export is neither a function nor an object with embedDocuments");
  return { embed: embedText, ...shape };
}

function embedderOf(value: unknown): EmbedText | undefined {
  if (typeof value === "function") return async (texts) => value(texts);
  if (typeof value === "object" && value !== null && "embedDocuments" in value) {
    const model = value as { embedDocuments: EmbedText };
    return (texts) => model.embedDocuments(texts);
  }
  return undefined;
}

function unusable(config: ProjectConfig, problem: string, cause?: unknown): AppError {
  return new AppError({
    code: "graph.part_unusable",
    kind: "unavailable",
    retryable: false,
    message: `store.index.embed in ${config.path} cannot be used: ${problem}.`,
    cause,
  });
}
