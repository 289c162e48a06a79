import { ChevronRight } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";

/** The frame of every page; `title` goes to the browser's tab and to assistive technology. */
export function Page({
  title,
  children,
  width = "wide",
}: {
  title: string;
  children: ReactNode;
  width?: "wide" | "narrow" | "full";
}) {
  useEffect(() => {
    document.title = `${title} · Treadle`;
  }, [title]);
  return <div className={`page page-${width}`}>{children}</div>;
}

export type Crumb = { label: string; href: string };

export type PageHeaderProps = {
  title: ReactNode;
  crumbs?: Crumb[];
  /** One sentence: what this page is for. */
  description?: ReactNode;
  /** Beside the title: a status. */
  badge?: ReactNode;
  actions?: ReactNode;
};

export function PageHeader({ title, crumbs, description, badge, actions }: PageHeaderProps) {
  return (
    <header className="page-header">
      <div className="page-heading">
        {crumbs && crumbs.length > 0 && (
          <nav className="crumbs" aria-label="Breadcrumb">
            {crumbs.map(({ label, href }) => (
              <span key={href}>
                <Link href={href}>{label}</Link>
                <ChevronRight aria-hidden="true" size={14} />
              </span>
            ))}
          </nav>
        )}
        <div className="page-title">
          <h1>{title}</h1>
          {badge}
        </div>
        {description && <p className="page-description">{description}</p>}
      </div>
      {actions && <div className="page-actions">{actions}</div>}
    </header>
  );
}

export function Section({
  title,
  actions,
  children,
  id,
}: {
  title: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  id?: string;
}) {
  return (
    <section className="section" {...(id ? { id } : {})}>
      <header className="section-header">
        <h2>{title}</h2>
        {actions && <div className="row">{actions}</div>}
      </header>
      {children}
    </section>
  );
}

export function Card({ children, className = "" }: { children: ReactNode; className?: string }) {
  return <div className={`card ${className}`}>{children}</div>;
}

/** Names and values, as a description list. */
export function Facts({ items }: { items: readonly (readonly [label: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {items.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
