import type { ReactNode } from "react";
import { Link } from "wouter";

export type Tab = { id: string; label: ReactNode; href: string };

/** Tabs are links: each has an address of its own. */
export function Tabs({ label, tabs, current }: { label: string; tabs: readonly Tab[]; current: string }) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <Link key={tab.id} href={tab.href} aria-current={tab.id === current ? "page" : undefined}>
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}
