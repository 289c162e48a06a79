import { type ReactNode, useEffect, useRef } from "react";
import { Link } from "wouter";

export type Tab = { id: string; label: ReactNode; href: string };

/** Tabs are links: each has an address of its own. */
export function Tabs({ label, tabs, current }: { label: string; tabs: readonly Tab[]; current: string }) {
  const bar = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: where the bar scrolls, the current one is to be seen
  useEffect(() => {
    const tab = bar.current?.querySelector('[aria-current="page"]');
    if (!bar.current || !tab) return;
    // The bar alone: the page stays where it is, with what stands above the bar in sight.
    const [own, around] = [tab.getBoundingClientRect(), bar.current.getBoundingClientRect()];
    if (own.left < around.left) bar.current.scrollLeft -= around.left - own.left;
    else if (own.right > around.right) bar.current.scrollLeft += own.right - around.right;
  }, [current]);
  return (
    <nav ref={bar} className="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <Link key={tab.id} href={tab.href} aria-current={tab.id === current ? "page" : undefined}>
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}
