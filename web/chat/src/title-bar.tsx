import { type ReactNode, useState } from "react";
import { Icon, type IconName } from "./icons.tsx";
import { type Theme, useTheme } from "./use-theme.ts";

const themeIcons: Record<Theme, IconName> = { system: "contrast", light: "sun", dark: "moon" };

export type TitleBarProps = {
  title: string;
  onList(): void;
  /** Undefined where the title cannot be changed. */
  onRename: ((title: string) => void) | undefined;
  children: ReactNode;
};

export function TitleBar({ title, onList, onRename, children }: TitleBarProps) {
  const [theme, nextTheme] = useTheme();
  const [editing, setEditing] = useState(false);
  return (
    <header className="topbar">
      <button type="button" className="quiet only-narrow" aria-label="Conversations" onClick={onList}>
        <Icon name="menu" />
      </button>
      {editing && onRename ? (
        <TitleField
          title={title}
          onDone={(next) => {
            setEditing(false);
            if (next !== undefined) onRename(next);
          }}
        />
      ) : (
        <>
          <h1>{title}</h1>
          {onRename && (
            <button type="button" className="quiet" aria-label="Rename" onClick={() => setEditing(true)}>
              <Icon name="edit" />
            </button>
          )}
        </>
      )}
      {children}
      <button type="button" className="quiet" aria-label={`Colours: ${theme}. Change`} onClick={nextTheme}>
        <Icon name={themeIcons[theme]} />
      </button>
    </header>
  );
}

/** Enter keeps the new title, Escape the old one. */
export function TitleField({ title, onDone }: { title: string; onDone(title: string | undefined): void }) {
  const [text, setText] = useState(title);
  const keep = () => {
    const next = text.trim();
    onDone(next === "" || next === title ? undefined : next);
  };
  return (
    <input
      className="title-field"
      aria-label="Title"
      // biome-ignore lint/a11y/noAutofocus: the person has just asked to type here.
      autoFocus
      maxLength={200}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onFocus={(event) => event.target.select()}
      onBlur={keep}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !event.nativeEvent.isComposing) keep();
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onDone(undefined);
      }}
    />
  );
}
