import { useEffect, useState } from "react";
import type { ChatServer } from "../servers/chat-server.ts";
import { type ModelSetting, modelSettingOf } from "./model-setting.ts";

export type Model = {
  setting: ModelSetting | undefined;
  /** Empty: the assistant's own. */
  chosen: string;
  choose(model: string): void;
  /** What a run is given. */
  config: { configurable: Record<string, unknown> } | undefined;
  /** Whether images and PDF would be lost: the model that needs no key reads text. */
  textOnly: boolean;
};

/** The model of an assistant, from its schema; this browser remembers the choice. */
export function useModel(server: ChatServer, assistantId: string): Model {
  const [setting, setSetting] = useState<ModelSetting>();
  const place = `treadle.chat.model.${server.id}.${assistantId}`;
  const [chosen, setChosen] = useState(() => localStorage.getItem(place) ?? "");
  useEffect(() => {
    let left = false;
    server.readSchemas?.(assistantId).then(
      (schemas) => {
        if (!left) setSetting(modelSettingOf(schemas));
      },
      // Without its schema the assistant uses the model it has.
      () => undefined,
    );
    return () => {
      left = true;
    };
  }, [server, assistantId]);
  const used = setting === undefined ? "" : chosen;
  const isOffline = (used || setting?.default || "offline") === "offline";
  return {
    setting,
    chosen: used,
    choose(model) {
      setChosen(model);
      if (model === "") localStorage.removeItem(place);
      else localStorage.setItem(place, model);
    },
    config: setting && used !== "" ? { configurable: { [setting.name]: used } } : undefined,
    textOnly: server.kind === "example" || (server.kind === "built-in" && isOffline),
  };
}
