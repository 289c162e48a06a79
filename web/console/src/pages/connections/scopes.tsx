const shown = 3;

/** Granted or requested scopes; a long list is cut and shown whole on hover. */
export function Scopes({ scopes, all = false }: { scopes: readonly string[]; all?: boolean }) {
  if (scopes.length === 0) return <span className="muted">What the provider gives by default</span>;
  const visible = all ? scopes : scopes.slice(0, shown);
  const rest = scopes.length - visible.length;
  return (
    <span className="scopes" title={scopes.join("\n")}>
      {visible.map((scope) => (
        <code key={scope}>{scope}</code>
      ))}
      {rest > 0 && <span className="muted small">and {rest} more</span>}
    </span>
  );
}
