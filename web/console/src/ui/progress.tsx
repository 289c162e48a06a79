/** From 0 to 1; without a value, only that something is going on. */
export function Progress({ value, label }: { value?: number | null; label: string }) {
  const known = value !== undefined && value !== null;
  const percent = known ? Math.round(Math.min(1, Math.max(0, value)) * 100) : undefined;
  return (
    <div
      className={known ? "progress" : "progress unknown"}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <span style={known ? { width: `${percent}%` } : undefined} />
    </div>
  );
}
