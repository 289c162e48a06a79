import { useState } from "react";
import { Field, Input, Textarea } from "../../ui/index.ts";
import type { AnnotationQueue, NewQueue } from "./evaluation-api.ts";
import { NameDialog } from "./name-dialog.tsx";
import { readKeys, rubricKeys } from "./rubric.ts";

/** A queue that is made or changed: its name, what reviewers read, and what they judge by. */
export function QueueDialog({
  queue,
  onSend,
  ...dialog
}: {
  queue?: AnnotationQueue;
  title: string;
  action: string;
  busy: boolean;
  error: unknown;
  onClose(): void;
  onSend(queue: Required<NewQueue>): void;
}) {
  const [instructions, setInstructions] = useState(queue?.rubric_instructions ?? "");
  const [keys, setKeys] = useState(rubricKeys(queue?.rubric_items).join(", "));
  return (
    <NameDialog
      {...dialog}
      start={{ name: queue?.name ?? "", description: queue?.description ?? "" }}
      onSend={({ name, description }) =>
        onSend({
          name,
          description,
          rubric_instructions: instructions.trim(),
          rubric_items: readKeys(keys).map((key) => ({ feedback_key: key })),
        })
      }
    >
      <Field label="Instructions" optional hint="Shown next to every item.">
        <Textarea value={instructions} rows={3} onChange={(event) => setInstructions(event.target.value)} />
      </Field>
      <Field
        label="Feedback keys"
        optional
        hint="Separated by commas, for example: correct, polite. Without any, reviewers give a thumb."
      >
        <Input value={keys} onChange={(event) => setKeys(event.target.value)} />
      </Field>
    </NameDialog>
  );
}
