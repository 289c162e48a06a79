/** Threads going over and under: the sign of the house. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path className="warp" d="M9 5v22M16 5v5M16 17v10M23 5v11M23 23v4" />
      <path className="weft" d="M4 13.5h8M20 13.5h8M4 20h2M12 20h16" />
    </svg>
  );
}
