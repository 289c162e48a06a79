import { useId, useRef, useState } from "react";
import { Icon } from "../icons.tsx";
import type { Model } from "./use-model.ts";

/** Names people are likely to want where the schema lists none; any other can be typed. */
const suggestions = [
  "offline",
  "openai/gpt-5-mini",
  "anthropic/claude-sonnet-4-5",
  "google/gemini-2.5-flash",
];

export function ModelPicker({ model, disabled }: { model: Model; disabled: boolean }) {
  const [open, setOpen] = useState(false);
  const { setting, chosen, choose } = model;
  const field = useId();
  const input = useRef<HTMLInputElement>(null);
  const use = () => {
    choose(input.current?.value.trim() ?? "");
    setOpen(false);
  };
  if (!setting) return null;
  if (setting.choices.length > 0) {
    return (
      <label className="picker">
        <span className="hidden">Model</span>
        <select value={chosen} disabled={disabled} onChange={(event) => choose(event.target.value)}>
          <option value="">{setting.default ?? "Model of the assistant"}</option>
          {setting.choices
            .filter((name) => name !== setting.default)
            .map((name) => (
              <option key={name}>{name}</option>
            ))}
        </select>
      </label>
    );
  }
  return (
    <div className="model">
      <button
        type="button"
        className="quiet small"
        disabled={disabled}
        aria-label={`Model: ${chosen || setting.default || "default"}`}
        aria-expanded={open}
        aria-controls={field}
        onClick={() => setOpen(!open)}
      >
        <Icon name="spark" />
        <span className="model-name">{chosen || setting.default || "Model"}</span>
      </button>
      {open && (
        <div id={field} className="model-field">
          <label className="field">
            <span>Model</span>
            <input
              list={`${field}-models`}
              defaultValue={chosen}
              placeholder={setting.default ?? "offline"}
              // biome-ignore lint/a11y/noAutofocus: the person has just asked to type here.
              autoFocus
              ref={input}
              onKeyDown={(event) => {
                if (event.key === "Enter") {
                  event.preventDefault();
                  use();
                } else if (event.key === "Escape") {
                  event.stopPropagation();
                  setOpen(false);
                }
              }}
            />
            <datalist id={`${field}-models`}>
              {suggestions.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </label>
          <p className="muted">{setting.description || "Empty: the model of the assistant."}</p>
          <div className="row">
            <button type="button" className="primary small" onClick={use}>
              Use it
            </button>
          </div>
        </div>
      )}
    </div>
  );
}
