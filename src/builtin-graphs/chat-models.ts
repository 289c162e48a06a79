import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AppError } from "../platform/errors.ts";
import { findInstalledPackage, importUrl } from "../platform/installed-package.ts";
import { importModule } from "../platform/native-import.ts";
import { OfflineChatModel, type OfflineModelOptions } from "./offline-model.ts";

type Provider = {
  name: string;
  packageName: string;
  className: string;
  /** The variables of the environment its key may be in. */
  keys: readonly string[];
  /** The model used when only the provider is named. */
  defaultModel: string;
};

const providers: Readonly<Record<string, Provider>> = {
  openai: {
    name: "OpenAI",
    packageName: "@langchain/openai",
    className: "ChatOpenAI",
    keys: ["OPENAI_API_KEY"],
    defaultModel: "gpt-5-mini",
  },
  anthropic: {
    name: "Anthropic",
    packageName: "@langchain/anthropic",
    className: "ChatAnthropic",
    keys: ["ANTHROPIC_API_KEY"],
    defaultModel: "claude-sonnet-4-5",
  },
  google: {
    name: "Google",
    packageName: "@langchain/google-genai",
    className: "ChatGoogleGenerativeAI",
    keys: ["GOOGLE_API_KEY", "GEMINI_API_KEY"],
    defaultModel: "gemini-2.5-flash",
  },
};

type Configurable = Readonly<Record<string, unknown>> | undefined;
type Environment = Readonly<Record<string, string | undefined>>;

export type ModelRequest = OfflineModelOptions & {
  modelName: string;
  /** Of the run, which says whose it is. */
  configurable?: Configurable;
  /** What a provider's model is made with beside its name and key. */
  settings?: ModelSettings | undefined;
};
export type ModelSettings = { temperature?: number; maxTokens?: number; maxRetries?: number };
export type ChatModels = { open(request: ModelRequest): Promise<BaseChatModel> };

/** A key that the workspace of a run keeps; it comes before the server's own. */
export type FindModelKey = (configurable: Configurable, provider: string) => Promise<string | undefined>;

export type ChatModelsOptions = {
  /** Where the server's own keys are. */
  environment: Environment;
  /** A file whose installed packages are used. */
  resolveFrom: string;
  findKey?: FindModelKey | undefined;
};

/** The providers there are, and whether the environment has a key of each. */
export function listModelProviders(environment: Environment) {
  return Object.entries(providers).map(([provider, { name, defaultModel, keys }]) => ({
    provider,
    name,
    defaultModel,
    onServer: keys.some((key) => Boolean(environment[key])),
  }));
}

type NamedModel = { id: string; provider: Provider; model: string };

/** Null: the offline model. Throws at a name that no provider has. */
export function parseModelName(modelName: string): NamedModel | null {
  if (modelName === "offline" || modelName === "") return null;
  const [id = "", ...rest] = modelName.split(/[/:]/);
  const provider = Object.hasOwn(providers, id) ? providers[id] : undefined;
  const model = rest.join("/");
  if (provider === undefined || (rest.length > 0 && model === "")) throw unknownModel(modelName);
  return { id, provider, model: model || provider.defaultModel };
}

/** `offline`, a provider, or `provider/model`; a key of the provider is in the settings of the workspace or the environment. */
export function createChatModels({ environment, resolveFrom, findKey }: ChatModelsOptions): ChatModels {
  return {
    async open({ modelName, configurable, settings, ...offline }) {
      const named = parseModelName(modelName);
      if (named === null) return new OfflineChatModel(offline);
      const { id, provider, model } = named;
      const apiKey =
        (await findKey?.(configurable, id)) ?? provider.keys.map((key) => environment[key]).find(Boolean);
      if (apiKey === undefined) throw missingKey(modelName, provider);
      const url = packageUrl(provider, resolveFrom);
      if (url === undefined) throw missingPackage(modelName, provider);
      const Model = (await importModule(url))[provider.className] as new (options: object) => BaseChatModel;
      return new Model({ ...settings, model, apiKey });
    },
  };
}

function packageUrl(provider: Provider, resolveFrom: string): string | undefined {
  const found = findInstalledPackage(provider.packageName, resolveFrom);
  return found && importUrl(found);
}

function unknownModel(modelName: string): AppError {
  const known = Object.entries(providers).map(([id, { defaultModel }]) => `${id} (or ${id}/${defaultModel})`);
  return modelError(
    "graph.model_unknown",
    `The model "${modelName}" is not known. Set model_name to offline, ${known.join(", ")}.`,
  );
}

function missingKey(modelName: string, { name, keys }: Provider): AppError {
  return modelError(
    "graph.model_key_missing",
    `The model "${modelName}" needs a key for ${name}. An admin can add it in the console under Settings, Models; or set ${keys.join(" or ")} in the server's environment. The model "offline" needs none.`,
  );
}

function missingPackage(modelName: string, { packageName }: Provider): AppError {
  return modelError(
    "graph.model_package_missing",
    `The model "${modelName}" needs the package ${packageName}, which is not installed. Run "npm install ${packageName}" next to the server, or use the model "offline".`,
  );
}

function modelError(
  code: `graph.model_${"key_missing" | "package_missing" | "unknown"}`,
  message: string,
): AppError {
  return new AppError({ code, kind: "unprocessable", message });
}
