import { useQuery } from "@tanstack/react-query";
import { Search, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { IconButton } from "../../ui/index.ts";
import { isTyping } from "../../ui/search-input.tsx";
import { asFilter, complete, type Suggestion } from "./filter-complete.ts";
import { faultWords } from "./filter-fault.ts";
import { type FilterFault, type SeenValues, validateFilter } from "./trace-api.ts";

/** A filter, with what may come next below it and what is wrong underlined. Enter applies it. */
export function FilterBar({
  value,
  onApply,
  seen,
}: {
  value: string;
  onApply(filter: string): void;
  seen: SeenValues | undefined;
}) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const mirror = useRef<HTMLDivElement>(null);
  const [text, setText] = useState(value);
  const [caret, setCaret] = useState(0);
  const [isOpen, setIsOpen] = useState(false);
  const [active, setActive] = useState(-1);
  // The address may change under the field: back, a quick filter, a link.
  useEffect(() => setText(value), [value]);
  useSlashKey(field);

  const filter = asFilter(text);
  const settled = useSettled(filter, 250);
  const check = useQuery({
    queryKey: ["trace-filter-check", settled],
    enabled: settled !== "",
    queryFn: ({ signal }) => validateFilter(settled, signal),
  });
  const offer = complete(text, caret, seen);
  const suggestions = isOpen ? offer.suggestions : [];
  const found = settled === filter && filter === text.trim() ? check.data?.errors[0] : undefined;
  // Half a filter is not wrong while it is being written.
  const isHalf = found !== undefined && found.offset >= filter.length && isOpen;
  const fault = isHalf ? undefined : found;
  const choice = Math.min(active, suggestions.length - 1);

  const take = ({ insert }: Suggestion) => {
    const next =
      text.slice(0, offer.from) +
      insert +
      text.slice(offer.to).replace(insert.endsWith(")") ? /^\)/ : /^$/, "");
    const at = offer.from + insert.length;
    setText(next);
    setActive(-1);
    requestAnimationFrame(() => {
      field.current?.setSelectionRange(at, at);
      setCaret(at);
    });
  };
  const apply = () => {
    setIsOpen(false);
    // A faulty filter stays in the field, with its fault; closing brackets are not missed.
    if (fault === undefined) onApply(closed(filter));
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (suggestions.length === 0) return setIsOpen(true);
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      setActive((choice + step + suggestions.length + (choice < 0 && step < 0 ? 1 : 0)) % suggestions.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const chosen = suggestions[choice];
      if (chosen) take(chosen);
      else apply();
    } else if (event.key === "Tab" && suggestions.length > 0 && !event.shiftKey && text !== value) {
      event.preventDefault();
      take(suggestions[Math.max(choice, 0)]!);
    } else if (event.key === "Escape") {
      if (isOpen) setIsOpen(false);
      else setText(value);
    }
  };

  return (
    <div className="filter">
      <div className={`filter-field ${fault ? "bad" : ""}`}>
        <Search aria-hidden="true" size={15} />
        <div className="filter-text">
          <div ref={mirror} className="filter-mirror" aria-hidden="true">
            {fault ? <Underlined text={text} fault={fault} /> : text}
          </div>
          <input
            ref={field}
            role="combobox"
            aria-label="Filter runs"
            aria-expanded={suggestions.length > 0}
            aria-controls={`${id}-list`}
            aria-activedescendant={choice >= 0 ? `${id}-${choice}` : undefined}
            aria-invalid={fault ? true : undefined}
            aria-describedby={`${id}-says`}
            aria-autocomplete="list"
            autoComplete="off"
            spellCheck={false}
            placeholder='Words to search for, or a filter such as eq(status, "error")'
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              setCaret(event.target.selectionStart ?? event.target.value.length);
              setIsOpen(true);
              setActive(-1);
            }}
            onSelect={(event) => setCaret(event.currentTarget.selectionStart ?? 0)}
            onScroll={(event) => {
              if (mirror.current) mirror.current.scrollLeft = event.currentTarget.scrollLeft;
            }}
            onFocus={() => setIsOpen(true)}
            onBlur={() => setIsOpen(false)}
            onKeyDown={onKeyDown}
          />
        </div>
        {text !== "" && (
          <IconButton
            label="Clear the filter"
            icon={X}
            size="small"
            onClick={() => {
              setText("");
              onApply("");
            }}
          />
        )}
      </div>
      <p className={`filter-says ${fault ? "bad" : ""}`} id={`${id}-says`} role="status">
        {fault
          ? faultWords(fault)
          : filter !== value && filter !== ""
            ? `Press Enter to ${filter === text.trim() ? "apply" : "search"}.`
            : ""}
      </p>
      <Suggestions id={id} suggestions={suggestions} active={choice} onTake={take} />
    </div>
  );
}

function Suggestions({
  id,
  suggestions,
  active,
  onTake,
}: {
  id: string;
  suggestions: readonly Suggestion[];
  active: number;
  onTake(suggestion: Suggestion): void;
}) {
  return (
    <div
      className="filter-list"
      id={`${id}-list`}
      role="listbox"
      aria-label="Suggestions"
      hidden={suggestions.length === 0}
    >
      {suggestions.map((suggestion, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field's keys choose
        <div
          key={suggestion.label}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          // Before the field loses the focus, which would close the list.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onTake(suggestion)}
        >
          <span className="filter-word">{suggestion.label}</span>
          <span className="muted">{suggestion.detail}</span>
        </div>
      ))}
    </div>
  );
}

/** From the fault's place to the end of the word there; at the very end, one place more. */
function Underlined({ text, fault }: { text: string; fault: FilterFault }) {
  const at = Math.min(fault.offset + (text.length - text.trimStart().length), text.length);
  const length = /^\s*[\w.-]+|^\s*./.exec(text.slice(at))?.[0].length ?? 0;
  return (
    <>
      {text.slice(0, at)}
      <mark>{length === 0 ? "\u00a0" : text.slice(at, at + length)}</mark>
      {text.slice(at + length)}
    </>
  );
}

/** Closes brackets that are still open: leaving them open is never intended. */
function closed(filter: string): string {
  let depth = 0;
  let quote = "";
  for (let index = 0; index < filter.length; index++) {
    const character = filter[index]!;
    if (quote !== "") {
      if (character === "\\") index += 1;
      else if (character === quote) quote = "";
    } else if (character === '"' || character === "'") quote = character;
    else if (character === "(") depth += 1;
    else if (character === ")") depth -= 1;
  }
  return filter + quote + ")".repeat(Math.max(0, depth));
}

function useSettled(value: string, afterMs: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), afterMs);
    return () => clearTimeout(timer);
  }, [value, afterMs]);
  return settled;
}

function useSlashKey(field: { current: HTMLInputElement | null }): void {
  useEffect(() => {
    const focus = (event: globalThis.KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || isTyping(event.target)) return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener("keydown", focus);
    return () => document.removeEventListener("keydown", focus);
  }, [field]);
}
