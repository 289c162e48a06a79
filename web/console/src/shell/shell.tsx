import { BookOpen, LogOut, Menu, MessagesSquare, Monitor, Moon, Sun, X } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { preloadPage } from "../pages.ts";
import { session, useSession } from "../session.ts";
import { themes, useTheme } from "../theme.ts";
import { IconButton, Select, toast } from "../ui/index.ts";
import { useWorkspace } from "../workspace.tsx";
import { Mark } from "./mark.tsx";
import { isCurrent, places } from "./navigation.ts";
import { OfflineBanner } from "./offline-banner.tsx";
import { useShortcuts } from "./use-shortcuts.ts";

/** Navigation beside the page; on a phone it is behind a button. */
export function Shell({ children }: { children: ReactNode }) {
  const [location] = useLocation();
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  useShortcuts();
  useEffect(() => {
    performance.mark("treadle.shell");
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: going somewhere closes the menu and begins at the top
  useEffect(() => {
    setOpen(false);
    main.current?.scrollTo({ top: 0 });
  }, [location]);

  return (
    <div className="shell" data-menu={open ? "open" : "closed"}>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="topbar">
        <IconButton
          label={open ? "Close the menu" : "Open the menu"}
          icon={open ? X : Menu}
          aria-expanded={open}
          aria-controls="navigation"
          onClick={() => setOpen(!open)}
        />
        <Brand />
      </header>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a wider target for closing; the button above does the same by keyboard */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: as above */}
      {open && <div className="veil" onClick={() => setOpen(false)} />}
      <aside
        className="sidebar"
        id="navigation"
        onKeyDown={(event) => {
          if (event.key === "Escape") setOpen(false);
        }}
        onClick={(event) => {
          // Also where one is already.
          if ((event.target as HTMLElement).closest("a")) setOpen(false);
        }}
      >
        <Brand />
        <WorkspaceChoice />
        <nav aria-label="Console">
          <ul>
            {places.map((place) => (
              <li key={place.href}>
                <Link
                  href={place.href}
                  className="nav-link"
                  aria-current={isCurrent(place, location) ? "page" : undefined}
                  title={`g then ${place.letter}`}
                  onPointerEnter={() => preloadPage(place.href)}
                  onFocus={() => preloadPage(place.href)}
                >
                  <place.icon aria-hidden="true" size={17} />
                  {place.label}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div className="sidebar-foot">
          <a className="nav-link" href="/chat">
            <MessagesSquare aria-hidden="true" size={17} />
            Chat
          </a>
          <a className="nav-link" href="/docs">
            <BookOpen aria-hidden="true" size={17} />
            API reference
          </a>
          <Identity />
        </div>
      </aside>
      <main className="main" id="main" ref={main} tabIndex={-1}>
        <OfflineBanner />
        {children}
      </main>
    </div>
  );
}

/** Who is signed in, and the way out. */
function Identity() {
  const state = useSession();
  if (state === null || typeof state === "string") return null;
  const { name, email } = state.user;
  return (
    <div className="identity">
      <Link href="/settings?tab=sessions" className="identity-who" title={`${name}, ${email}: your sessions`}>
        <span className="identity-initial" aria-hidden="true">
          {(name || email).slice(0, 1).toUpperCase()}
        </span>
        <span className="identity-names">
          <b>{name || email}</b>
          <span className="muted">{email}</span>
        </span>
      </Link>
      <ThemeChoice />
      <IconButton
        label="Sign out"
        icon={LogOut}
        onClick={() => session.signOut().catch((error: unknown) => toast.bad(error))}
      />
    </div>
  );
}

function Brand() {
  return (
    <Link href="/" className="brand" aria-label="Treadle: overview">
      <Mark />
      <span>Treadle</span>
    </Link>
  );
}

function WorkspaceChoice() {
  const { current, all } = useWorkspace();
  if (all.length < 2) {
    return (
      <p className="workspace-name" title={current.id}>
        {current.name}
      </p>
    );
  }
  return (
    <Select
      aria-label="Workspace"
      className="workspace-choice"
      value={current.id}
      onChange={(event) => session.chooseWorkspace(event.target.value)}
      options={all.map(({ id, name }) => ({ value: id, label: name }))}
    />
  );
}

const themeIcons = { system: Monitor, light: Sun, dark: Moon } as const;

function ThemeChoice() {
  const [theme, setTheme] = useTheme();
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  return (
    <IconButton
      label={`Colours: ${theme}. Change to ${next}`}
      icon={themeIcons[theme]}
      onClick={() => setTheme(next)}
    />
  );
}
