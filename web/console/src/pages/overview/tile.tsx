import type { LucideIcon } from "lucide-react";
import { Link } from "wouter";
import { messageOf } from "../../ui/index.ts";

export type TileTone = "good" | "bad" | "quiet";

export type TileProps = {
  icon: LucideIcon;
  label: string;
  href: string;
  value: string;
  note: string;
  tone: TileTone;
  query: { isPending: boolean; error: unknown; data: unknown };
};

/** One area of the platform in a few words; leads there. */
export function Tile({ icon: Icon, label, href, value, note, tone, query }: TileProps) {
  const failed = query.error && !query.data;
  return (
    <Link
      href={href}
      className={`tile ${failed ? "bad" : query.isPending ? "quiet" : tone}`}
      aria-busy={query.isPending || undefined}
    >
      <span className="tile-label">
        <Icon aria-hidden="true" size={15} />
        {label}
      </span>
      <span className="tile-value">{failed ? "Not known" : query.isPending ? " " : value}</span>
      <span className="tile-note">{failed ? messageOf(query.error) : query.isPending ? " " : note}</span>
    </Link>
  );
}
