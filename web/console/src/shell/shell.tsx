import { BookOpen, LogOut, Menu, MessagesSquare, Search, X } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { preloadPage } from "../pages.ts";
import { session, useSession } from "../session.ts";
import { IconButton, Select, toast } from "../ui/index.ts";
import { useWorkspace } from "../workspace.tsx";
import { linkedWorkspace } from "./linked-workspace.ts";
import { Mark } from "./mark.tsx";
import { isCurrent, places } from "./navigation.ts";
import { OfflineBanner } from "./offline-banner.tsx";
import { ThemeChoice } from "./theme-choice.tsx";
import { usePageFocus } from "./use-page-focus.ts";
import { type Overlay, useShortcuts } from "./use-shortcuts.ts";

const Palette = lazy(() => import("./palette.tsx"));
const KeyHelp = lazy(() => import("./key-help.tsx"));

/** Navigation beside the page; on a phone it is behind a button. */
export function Shell({ children }: { children: ReactNode }) {
  const [location] = useLocation();
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const [overlay, setOverlay] = useState<Overlay | null>(null);
  useShortcuts(setOverlay);
  usePageFocus(main);
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
        <button type="button" className="find" onClick={() => setOverlay("palette")}>
          <Search aria-hidden="true" size={15} />
          <span>Find anything</span>
          <kbd>Ctrl K</kbd>
        </button>
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
      <Suspense fallback={null}>
        {overlay === "palette" && <Palette onClose={() => setOverlay(null)} />}
        {overlay === "keys" && <KeyHelp onClose={() => setOverlay(null)} />}
      </Suspense>
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
  const [path, navigate] = useLocation();
  const choose = (id: string) => {
    // Such an address belongs to the workspace that one leaves.
    if (linkedWorkspace(path) !== null) navigate(path.includes("/datasets/") ? "/datasets" : "/traces");
    session.chooseWorkspace(id);
  };
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
      onChange={(event) => choose(event.target.value)}
      options={all.map(({ id, name }) => ({ value: id, label: name }))}
    />
  );
}
