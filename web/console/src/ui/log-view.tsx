import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDownToLine, Download, FoldVertical } from "lucide-react";
import { Fragment, useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import type { LogLine } from "../api/wire.ts";
import { Button, IconButton } from "./button.tsx";
import { Select } from "./field.tsx";
import { SearchInput } from "./search-input.tsx";

export type LogViewProps = {
  label: string;
  lines: readonly LogLine[];
  /** Whether more may come. */
  live?: boolean;
  /** Name of the file when downloaded. */
  fileName?: string;
  /** Shown when there is no line. */
  empty?: string;
  /** The id of the line to go to. */
  marked?: string | null;
  /** How often it was asked for: each time it is gone to. */
  timesShown?: number | undefined;
  /** The address of a line, for its time to lead there. */
  lineHref?: ((id: string) => string) | undefined;
};

const levels = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];
const errorLevel = levels.indexOf("ERROR");

/** A log as it grows: only what is seen is drawn; it follows its end until one scrolls up. */
export function LogView({
  label,
  lines,
  live = false,
  fileName = "log.txt",
  empty = "Nothing was written yet.",
  marked = null,
  timesShown = 0,
  lineHref,
}: LogViewProps) {
  const [search, setSearch] = useState("");
  const [level, setLevel] = useState("DEBUG");
  const [ownOnly, setOwnOnly] = useState(false);
  const [follow, setFollow] = useState(marked === null);
  const box = useRef<HTMLDivElement>(null);
  const tellsApart = useMemo(() => lines.some(({ origin }) => origin === "project"), [lines]);
  const shown = useMemo(
    () => filterLines(lines, { search, least: level, ownOnly: ownOnly && tellsApart }),
    [lines, search, level, ownOnly, tellsApart],
  );
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => 20,
    overscan: 30,
    getItemKey: (index) => shown[index]!.id,
  });

  useEffect(() => {
    if (follow && shown.length > 0) rows.scrollToIndex(shown.length - 1, { align: "end" });
  }, [follow, shown, rows]);

  const markedAt = marked === null ? -1 : shown.findIndex(({ id }) => id === marked);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each line that is asked for, not for each that comes
  useEffect(() => {
    if (markedAt < 0) return;
    setFollow(false);
    box.current?.scrollIntoView({ block: "center" });
    rows.scrollToIndex(markedAt, { align: "center" });
  }, [marked, markedAt >= 0, timesShown]);

  return (
    <div className="log">
      <div className="log-bar">
        <SearchInput label={`Search ${label.toLowerCase()}`} value={search} onChange={setSearch} />
        <Select
          aria-label="Least severity"
          className="log-level"
          value={level}
          onChange={(event) => setLevel(event.target.value)}
          options={levels.map((name) => ({
            value: name,
            label: name === "DEBUG" ? "Everything" : `${words(name)} and up`,
          }))}
        />
        <span className="muted log-count">
          {shown.length < lines.length ? `${shown.length.toLocaleString("en-US")} of ` : ""}
          {lines.length.toLocaleString("en-US")} lines{live && <span className="log-live"> live</span>}
        </span>
        {tellsApart && (
          <Button
            size="small"
            icon={FoldVertical}
            aria-pressed={ownOnly}
            onClick={() => setOwnOnly((now) => !now)}
            title="Only what the project's own commands printed, and errors"
          >
            Own output
          </Button>
        )}
        <Button
          size="small"
          icon={ArrowDownToLine}
          aria-pressed={follow}
          onClick={() => setFollow((now) => !now)}
          title="Stay at the newest line"
        >
          Follow
        </Button>
        <IconButton label="Download" icon={Download} size="small" onClick={() => download(fileName, lines)} />
      </div>
      <div
        ref={box}
        className="log-lines"
        role="log"
        aria-label={label}
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
        tabIndex={0}
        onWheel={(event) => {
          if (event.deltaY < 0) setFollow(false);
        }}
        onKeyDown={(event) => {
          if (["ArrowUp", "PageUp", "Home"].includes(event.key)) setFollow(false);
          if (event.key === "End") setFollow(true);
        }}
      >
        {shown.length === 0 ? (
          <p className="log-empty">
            {lines.length === 0 ? empty : "No line matches. Change the search or the severity."}
          </p>
        ) : (
          <div style={{ height: rows.getTotalSize(), position: "relative" }}>
            {rows.getVirtualItems().map((row) => {
              const line = shown[row.index]!;
              return (
                <div
                  key={row.key}
                  ref={rows.measureElement}
                  data-index={row.index}
                  className={lineClass(line, marked)}
                  aria-current={line.id === marked ? "true" : undefined}
                  style={{ transform: `translateY(${row.start}px)` }}
                >
                  <LineTime line={line} href={lineHref?.(line.id)} />
                  <span className="log-text">
                    {line.level !== "INFO" && line.level !== "DEBUG" && <b>{line.level} </b>}
                    <Highlight text={line.message} search={search} />
                  </span>
                </div>
              );
            })}
          </div>
        )}
      </div>
    </div>
  );
}

function LineTime({ line, href }: { line: LogLine; href: string | undefined }) {
  const time = (
    <time dateTime={line.timestamp} title={line.timestamp}>
      {clock(line.timestamp)}
    </time>
  );
  if (href === undefined) return time;
  return (
    <Link href={href} className="log-at" title="A link to this line" tabIndex={-1}>
      {time}
    </Link>
  );
}

function lineClass({ id, level, origin }: LogLine, marked: string | null): string {
  const platform = origin === "platform" ? " platform" : "";
  return `log-line ${level.toLowerCase()}${platform}${id === marked ? " marked" : ""}`;
}

/** The text with every match marked. */
export function Highlight({ text, search }: { text: string; search: string }) {
  const wanted = search.trim().toLowerCase();
  if (wanted === "") return text;
  const parts: { text: string; hit: boolean; at: number }[] = [];
  const lower = text.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    if (at > from) parts.push({ text: text.slice(from, at), hit: false, at: from });
    parts.push({ text: text.slice(at, at + wanted.length), hit: true, at });
    from = at + wanted.length;
  }
  parts.push({ text: text.slice(from), hit: false, at: from });
  return parts.map((part) =>
    part.hit ? <mark key={part.at}>{part.text}</mark> : <Fragment key={part.at}>{part.text}</Fragment>,
  );
}

type Wanted = { search: string; least: string; ownOnly: boolean };

function filterLines(lines: readonly LogLine[], { search, least, ownOnly }: Wanted): readonly LogLine[] {
  const wanted = search.trim().toLowerCase();
  const from = levels.indexOf(least);
  if (wanted === "" && from <= 0 && !ownOnly) return lines;
  return lines.filter(
    ({ message, level, origin }) =>
      (!ownOnly || origin === "project" || levels.indexOf(level) >= errorLevel) &&
      levels.indexOf(level) >= from &&
      (wanted === "" || message.toLowerCase().includes(wanted)),
  );
}

function download(name: string, lines: readonly LogLine[]): void {
  const text = lines.map(({ timestamp, level, message }) => `${timestamp} ${level} ${message}`).join("\n");
  const url = URL.createObjectURL(new Blob([`${text}\n`], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

function clock(timestamp: string): string {
  const at = new Date(timestamp);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

function words(level: string): string {
  return level.charAt(0) + level.slice(1).toLowerCase();
}
