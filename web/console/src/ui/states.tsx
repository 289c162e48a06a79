import type { LucideIcon } from "lucide-react";
import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError } from "../api/client.ts";
import { Button } from "./button.tsx";

export type EmptyStateProps = {
  icon?: LucideIcon;
  title: string;
  /** Why it is empty, and what to do. */
  children?: ReactNode;
  action?: ReactNode;
};

export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps) {
  return (
    <div className="state">
      {Icon && (
        <span className="state-icon" aria-hidden="true">
          <Icon size={22} />
        </span>
      )}
      <h2>{title}</h2>
      {children && <div className="state-text">{children}</div>}
      {action && <div className="row state-actions">{action}</div>}
    </div>
  );
}

/** What happened, in the server's words, and a way to try again. */
export function ErrorState({
  error,
  retry,
  title,
  note,
}: {
  error: unknown;
  retry?: (() => unknown) | undefined;
  title?: string;
  note?: string;
}) {
  const status = error instanceof ApiError ? error.status : undefined;
  const heading =
    title ??
    (status === 404
      ? "Not found"
      : status === 403
        ? "Not allowed"
        : status === 0
          ? "The server does not answer"
          : status === 503
            ? "The server is not ready"
            : "That did not work");
  return (
    <div className="state bad" role="alert">
      <span className="state-icon" aria-hidden="true">
        <CircleAlert size={22} />
      </span>
      <h2>{heading}</h2>
      <p className="state-text">{messageOf(error)}</p>
      {note && <p className="state-text small">{note}</p>}
      {retry && status !== 404 && status !== 403 && (
        <div className="row state-actions">
          <Button onClick={() => void retry()}>Try again</Button>
        </div>
      )}
    </div>
  );
}

/** A short line of what went wrong, for forms. */
export function ErrorLine({ error }: { error: unknown }) {
  if (!error) return null;
  return (
    <p className="error-line" role="alert">
      <CircleAlert aria-hidden="true" size={16} />
      <span>{messageOf(error)}</span>
    </p>
  );
}

export function messageOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return error instanceof Error ? `Something in this page went wrong: ${error.message}` : String(error);
}

/** Grey bars in the place of what is coming, so that nothing jumps. */
export function Skeleton({ lines = 3, height }: { lines?: number; height?: string }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bars have no identity
        <span key={index} style={height ? { height } : undefined} />
      ))}
    </div>
  );
}
