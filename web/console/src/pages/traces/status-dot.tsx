import { memo } from "react";

const words: Readonly<Record<string, string>> = { success: "Success", error: "Error", pending: "Running" };

/** A run's status where there is no room for a badge; screen readers get its name. */
export const StatusDot = memo(function StatusDot({ status }: { status: string }) {
  return (
    <span
      className={`status-dot ${status}`}
      role="img"
      aria-label={words[status] ?? status}
      title={words[status] ?? status}
    />
  );
});
