import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useId, useState } from "react";
import { useLocation } from "wouter";
import { api, query } from "../api/client.ts";
import type { Answers } from "../api/wire.ts";
import { Dialog, Input } from "../ui/index.ts";
import { type Choice, choicesFor, step } from "./palette-choices.ts";

/** Ctrl-K: finds pages and everything of the workspace that has one, and goes there. */
export default function Palette({ onClose }: { onClose(): void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [, navigate] = useLocation();
  const id = useId();
  const asked = useDeferredValue(text.trim());
  const found = useQuery({
    queryKey: ["search", asked],
    enabled: asked !== "",
    staleTime: 5_000,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) =>
      (
        await api.get<Answers["search_workspace"]>(`/v2/search${query({ q: asked.slice(0, 200) })}`, {
          signal,
        })
      ).resources,
  });
  const choices = choicesFor(text, asked === "" ? [] : (found.data ?? []));
  const current = Math.min(at, Math.max(0, choices.length - 1));
  const optionId = (index: number) => `${id}-${index}`;
  useEffect(() => {
    document.getElementById(`${id}-${current}`)?.scrollIntoView({ block: "nearest" });
  }, [id, current]);
  const go = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
    // The chat and the reference are pages of their own.
    if (/^\/(chat|docs)$/.test(choice.path)) location.assign(choice.path);
    else navigate(choice.path);
  };
  return (
    <Dialog title="Find anything" onClose={onClose}>
      <div className="palette">
        <Input
          role="combobox"
          aria-label="Name or id"
          aria-expanded={choices.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={choices.length > 0 ? optionId(current) : undefined}
          placeholder="A name, or the start of an id"
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown" || event.key === "ArrowUp") {
              event.preventDefault();
              setAt(step(current, event.key === "ArrowDown" ? 1 : -1, choices.length));
            }
            if (event.key === "Enter") {
              event.preventDefault();
              go(choices[current]);
            }
          }}
        />
        <div role="listbox" id={`${id}-list`} aria-label="Found" className="palette-list">
          {choices.map((choice, index) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
            // biome-ignore lint/a11y/useKeyWithClickEvents: Enter in the field does the same
            <div
              key={choice.id}
              id={optionId(index)}
              role="option"
              aria-selected={index === current}
              className="palette-choice"
              onClick={() => go(choice)}
              onPointerMove={() => setAt(index)}
            >
              <span className="palette-kind">{choice.kind}</span>
              <span className="palette-title">{choice.title}</span>
              <span className="palette-detail">{choice.detail}</span>
            </div>
          ))}
        </div>
        <p className="muted small" role="status">
          {found.error ? found.error.message : choices.length === 0 ? "Nothing has this name or id." : ""}
        </p>
      </div>
    </Dialog>
  );
}
