import { type ReactNode, useId } from "react";
import { Button, Dialog, ErrorLine, Field, Input, Textarea, useForm } from "../../ui/index.ts";

type Values = { name: string; description: string };

/** Name and description: of what is made, or of what is renamed. */
export function NameDialog({
  title,
  action,
  start = { name: "", description: "" },
  busy,
  error,
  onClose,
  onSend,
  children,
}: {
  title: string;
  action: string;
  start?: Values;
  busy: boolean;
  error: unknown;
  onClose(): void;
  onSend(values: Values): void;
  children?: ReactNode;
}) {
  const formId = useId();
  const form = useForm<Values>({
    start,
    judge: "when sent",
    check: ({ name }) => ({ name: name.trim() === "" ? "Write a name." : null }),
    isBlocked: busy,
    send: ({ name, description }) => onSend({ name: name.trim(), description: description.trim() }),
  });
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={formId} look="primary" busy={busy}>
            {action}
          </Button>
        </>
      }
    >
      <form id={formId} className="stack" onSubmit={form.submit} noValidate>
        <Field label="Name" error={form.problem("name")}>
          <Input {...form.text("name")} maxLength={500} />
        </Field>
        <Field label="Description" optional>
          <Textarea {...form.text("description")} rows={2} maxLength={10_000} />
        </Field>
        {children}
        <ErrorLine error={error} />
      </form>
    </Dialog>
  );
}
