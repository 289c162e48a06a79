import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AppError } from "../platform/errors.ts";
import { findInstalledPackage, importUrl } from "../platform/installed-package.ts";
import { importModule } from "../platform/native-import.ts";
import { OfflineChatModel, type OfflineModelOptions } from "./offline-model.ts";

type Provider = { packageName: string; className: string; keys: readonly string[] };

const providers: Readonly<Record<string, Provider>> = {
  openai: { packageName: "@langchain/openai", className: "ChatOpenAI", keys: ["OPENAI_API_KEY"] },
  anthropic: { packageName: "@langchain/anthropic", className: "ChatAnthropic", keys: ["ANTHROPIC_API_KEY"] },
  google: {
    packageName: "@langchain/google-genai",
    className: "ChatGoogleGenerativeAI",
    keys: ["GOOGLE_API_KEY", "GEMINI_API_KEY"],
  },
};

export type ModelRequest = OfflineModelOptions & { modelName: string };
export type ChatModels = { open(request: ModelRequest): Promise<BaseChatModel> };

export type ChatModelsOptions = {
  /** Where the providers' keys are. */
  environment: Readonly<Record<string, string | undefined>>;
  /** A file whose installed packages are used. */
  resolveFrom: string;
};

/** `offline`, or `provider/model` with the provider's package installed and its key set. */
export function createChatModels({ environment, resolveFrom }: ChatModelsOptions): ChatModels {
  return {
    async open({ modelName, ...offline }) {
      if (modelName === "offline" || modelName === "") return new OfflineChatModel(offline);
      const [name = "", ...rest] = modelName.split(/[/:]/);
      const model = rest.join("/");
      const provider = providers[name];
      if (provider === undefined || model === "") throw unknownModel(modelName);
      const apiKey = provider.keys.map((key) => environment[key]).find(Boolean);
      if (apiKey === undefined) throw missingKey(modelName, provider);
      const url = packageUrl(provider, resolveFrom);
      if (url === undefined) throw missingPackage(modelName, provider);
      const Model = (await importModule(url))[provider.className] as new (options: object) => BaseChatModel;
      return new Model({ model, apiKey });
    },
  };
}

function packageUrl(provider: Provider, resolveFrom: string): string | undefined {
  const found = findInstalledPackage(provider.packageName, resolveFrom);
  return found && importUrl(found);
}

function unknownModel(modelName: string): AppError {
  const known = Object.keys(providers).map((name) => `${name}/<model>`);
  return modelError(
    "graph.model_unknown",
    `The model "${modelName}" is not known. Set configurable.model_name to offline, ${known.join(", ")}.`,
  );
}

function missingKey(modelName: string, { keys }: Provider): AppError {
  return modelError(
    "graph.model_key_missing",
    `The model "${modelName}" needs ${keys.join(" or ")} in the server's environment. Set it and start the server again, or use the model "offline".`,
  );
}

function missingPackage(modelName: string, { packageName }: Provider): AppError {
  return modelError(
    "graph.model_package_missing",
    `The model "${modelName}" needs the package ${packageName}, which is not installed. Run "npm install ${packageName}" beside the server, or use the model "offline".`,
  );
}

function modelError(
  code: `graph.model_${"key_missing" | "package_missing" | "unknown"}`,
  message: string,
): AppError {
  return new AppError({ code, kind: "unprocessable", message });
}
