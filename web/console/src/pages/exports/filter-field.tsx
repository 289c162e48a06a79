import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { api } from "../../api/client.ts";
import { Field, Textarea } from "../../ui/index.ts";
import { complete, type Suggestion } from "../traces/filter-complete.ts";
import type { SeenValues } from "../traces/trace-api.ts";

const mostOffered = 8;

/** A filter, with what may come next as buttons below it; the server names what is wrong. */
export function FilterField({
  value,
  onChange,
  projectId,
  error,
}: {
  value: string;
  onChange(filter: string): void;
  /** Whose names and tags are offered; null for several projects. */
  projectId: string | null;
  error: string | null | undefined;
}) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [caret, setCaret] = useState(value.length);
  const seen = useQuery({
    queryKey: ["trace-values", projectId],
    enabled: projectId !== null,
    queryFn: ({ signal }) => api.get<SeenValues>(`/api/v1/sessions/${projectId}/filter-values`, { signal }),
  });
  const offer = complete(value, caret, seen.data);
  const take = ({ insert }: Suggestion) => {
    const after = value.slice(offer.to);
    onChange(value.slice(0, offer.from) + insert + (insert.endsWith(")") ? after.replace(/^\)/, "") : after));
    const at = offer.from + insert.length;
    setCaret(at);
    requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.setSelectionRange(at, at);
    });
  };
  return (
    <div className="filter-choice">
      <Field
        label="Filter"
        optional
        hint='The language of the traces page, for example and(eq(is_root, true), eq(status, "error"))'
        error={error}
      >
        <Textarea
          ref={field}
          className="mono"
          rows={2}
          spellCheck={false}
          value={value}
          onChange={(event) => {
            onChange(event.target.value);
            setCaret(event.target.selectionStart);
          }}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
        />
      </Field>
      {offer.suggestions.length > 0 && (
        <fieldset className="bare offers" aria-label="What may come next">
          {offer.suggestions.slice(0, mostOffered).map((suggestion) => (
            <button
              key={suggestion.label}
              type="button"
              className="button quiet small mono"
              title={suggestion.detail}
              onClick={() => take(suggestion)}
            >
              {suggestion.label}
            </button>
          ))}
        </fieldset>
      )}
    </div>
  );
}
