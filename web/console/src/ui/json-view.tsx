import { ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import { CopyButton } from "./copy-button.tsx";
import { mediaAt } from "./media.ts";
import { MediaView } from "./media-view.tsx";

export type JsonViewProps = {
  value: unknown;
  label: string;
  /** Levels that are open at first. */
  open?: number;
};

const shownAtOnce = 100;
const longText = 600;

/** A value that unfolds; long texts and long lists show their beginning first. */
export function JsonView({ value, label, open = 2 }: JsonViewProps) {
  return (
    <div className="json">
      <CopyButton text={() => JSON.stringify(value, null, 2) ?? "undefined"} label={`Copy ${label}`} />
      <Node value={value} depth={0} open={open} />
    </div>
  );
}

function Node({
  name,
  value,
  depth,
  open,
}: {
  name?: string;
  value: unknown;
  depth: number;
  open: number;
}): ReactNode {
  const label = name === undefined ? null : <span className="json-name">{name}: </span>;
  if (value === null || typeof value !== "object") {
    return (
      <div className="json-leaf">
        {label}
        <Leaf value={value} />
      </div>
    );
  }
  return <Branch label={label} value={value} depth={depth} open={open} />;
}

function Branch({
  label,
  value,
  depth,
  open,
}: {
  label: ReactNode;
  value: object;
  depth: number;
  open: number;
}) {
  const entries = Object.entries(value);
  const [unfolded, setUnfolded] = useState(depth < open);
  const [shown, setShown] = useState(shownAtOnce);
  const [begin, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) {
    return (
      <div className="json-leaf">
        {label}
        <span className="json-quiet">{begin + end}</span>
      </div>
    );
  }
  return (
    <div className="json-branch">
      <button
        type="button"
        className="json-toggle"
        aria-expanded={unfolded}
        onClick={() => setUnfolded(!unfolded)}
      >
        <ChevronRight aria-hidden="true" size={13} />
        {label}
        <span className="json-quiet">
          {begin}
          {!unfolded && ` ${entries.length} ${entries.length === 1 ? "entry" : "entries"} ${end}`}
        </span>
      </button>
      {unfolded && (
        <div className="json-children">
          {entries.slice(0, shown).map(([key, child]) => (
            <Node key={key} name={key} value={child} depth={depth + 1} open={open} />
          ))}
          {entries.length > shown && (
            <button type="button" className="link" onClick={() => setShown(shown + shownAtOnce * 5)}>
              Show more ({entries.length - shown} left)
            </button>
          )}
        </div>
      )}
      {unfolded && <span className="json-quiet">{end}</span>}
    </div>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== "string")
    return <span className={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
  const media = mediaAt(value);
  if (media && !whole)
    return (
      <span className="json-media">
        <MediaView media={media} />
        <button type="button" className="link" onClick={() => setWhole(true)}>
          Show as text
        </button>
      </span>
    );
  const cut = !whole && value.length > longText;
  return (
    <span className="json-string">
      “{cut ? `${value.slice(0, longText)}…` : value}”
      {cut && (
        <button type="button" className="link" onClick={() => setWhole(true)}>
          Show all {value.length.toLocaleString("en-US")} characters
        </button>
      )}
    </span>
  );
}
