import { type FormEvent, useState } from "react";
import { Button, Field, Textarea } from "../../../ui/index.ts";
import { jsonOrText } from "../read-json.ts";

export type AnswerFormProps = { asked: unknown; busy: boolean; onAnswer(answer: unknown): void };

/** Anything: words, or data. What was asked can be the beginning of the answer. */
export function AnswerForm({ asked, busy, onAnswer }: AnswerFormProps) {
  const [text, setText] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onAnswer(jsonOrText(text));
  };
  return (
    <form className="stack" onSubmit={submit}>
      <Field label="Your answer" hint="Text, or JSON if the graph expects data. Ctrl+Enter sends it.">
        <Textarea
          rows={Math.min(12, Math.max(2, text.split("\n").length))}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
              event.currentTarget.form?.requestSubmit();
          }}
        />
      </Field>
      <div className="row">
        <Button type="submit" look="primary" busy={busy}>
          Go on
        </Button>
        {asked !== null && typeof asked === "object" && (
          <Button onClick={() => setText(JSON.stringify(asked, null, 2))}>Edit the question</Button>
        )}
      </div>
    </form>
  );
}
