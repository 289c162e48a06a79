import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button, IconButton } from "./button.tsx";
import { Field, Input } from "./field.tsx";

export type DialogProps = {
  title: ReactNode;
  onClose(): void;
  children: ReactNode;
  /** The buttons at the bottom, the wanted one last. */
  footer?: ReactNode;
  wide?: boolean;
};

/** Mount it to open it. The browser's own dialog: keeps the focus inside and closes on Esc. */
export function Dialog({ title, onClose, children, footer, wide }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    // Words alone are scrolled in a low window, too: with the keys, from here.
    if (body.current?.querySelector("a, button, input, select, textarea") === null) body.current.tabIndex = 0;
    const dialog = element.current;
    dialog?.showModal();
    // Where one types, not the button that closes it.
    dialog?.querySelector<HTMLElement>(".dialog-body :is(input, select, textarea)")?.focus();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes it; the click is for the backdrop
    <dialog
      ref={element}
      className={wide ? "dialog wide" : "dialog"}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div className="dialog-box">
        <header className="dialog-header">
          <h2 id={id}>{title}</h2>
          <IconButton label="Close" icon={X} onClick={onClose} />
        </header>
        <div ref={body} className="dialog-body">
          {children}
        </div>
        {footer && <footer className="dialog-footer">{footer}</footer>}
      </div>
    </dialog>
  );
}

export type ConfirmDialogProps = {
  title: ReactNode;
  /** What will happen, and whether it can be undone. */
  children: ReactNode;
  action: string;
  /** What must be typed first: for what cannot be undone. */
  typeToConfirm?: string;
  danger?: boolean;
  onClose(): void;
  /** The dialog shows what goes wrong; closing it is up to the caller. */
  onConfirm(): Promise<unknown> | unknown;
};

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, children, action, typeToConfirm, danger = true, onClose, onConfirm } = props;
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const ready = typeToConfirm === undefined || typed.trim() === typeToConfirm;
  const confirm = async () => {
    if (!ready || busy) return;
    setBusy(true);
    setFailure(null);
    try {
      await onConfirm();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look={danger ? "danger" : "primary"} busy={busy} disabled={!ready} onClick={confirm}>
            {action}
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        <div>{children}</div>
        {typeToConfirm !== undefined && (
          <Field
            label={
              <>
                Type <strong>{typeToConfirm}</strong> to confirm
              </>
            }
          >
            <Input
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
              spellCheck={false}
              autoFocus
            />
          </Field>
        )}
        {failure && (
          <p className="field-error" role="alert">
            {failure}
          </p>
        )}
      </form>
    </Dialog>
  );
}
