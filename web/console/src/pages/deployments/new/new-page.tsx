import { FolderUp, GitBranch, LayoutTemplate, Link2, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Link, useSearchParams } from "wouter";
import { EmptyState, Page, PageHeader } from "../../../ui/index.ts";
import { useCan } from "../../../workspace.tsx";
import { IsolationNotice } from "../isolation-notice.tsx";
import { FolderForm } from "./folder-form.tsx";
import { GitForm } from "./git-form.tsx";
import { RepositoryForm } from "./repository-form.tsx";
import { TemplateForm } from "./template-form.tsx";
import "./new.css";

type Way = { id: string; icon: LucideIcon; title: string; words: string; form: () => ReactNode };

const ways: readonly Way[] = [
  {
    id: "template",
    icon: LayoutTemplate,
    title: "Template",
    words: "A small agent to start with. Needs no key and no git.",
    form: TemplateForm,
  },
  {
    id: "folder",
    icon: FolderUp,
    title: "Folder",
    words: "A project on this computer: drop it here or choose it.",
    form: FolderForm,
  },
  {
    id: "repository",
    icon: GitBranch,
    title: "Repository",
    words: "One of your repositories, private ones too.",
    form: RepositoryForm,
  },
  {
    id: "git",
    icon: Link2,
    title: "Git URL",
    words: "Any repository by its address, with a branch and a path.",
    form: GitForm,
  },
];

const crumbs = [{ label: "Deployments", href: "/deployments" }];

/** Four ways to a new deployment; which one is in the address. */
export function NewPage() {
  const mayCreate = useCan("editor");
  const [params] = useSearchParams();
  const way = ways.find(({ id }) => id === params.get("from")) ?? ways[0]!;
  if (!mayCreate) {
    return (
      <Page title="New deployment" width="narrow">
        <PageHeader title="New deployment" crumbs={crumbs} />
        <EmptyState title="Your key can only read">
          Ask an admin of this workspace for a key with the role editor.
        </EmptyState>
      </Page>
    );
  }
  const Form = way.form;
  return (
    <Page title="New deployment" width="narrow">
      <PageHeader
        title="New deployment"
        crumbs={crumbs}
        description="Packages are installed, graphs are checked, and the agent is served. It takes a minute or two."
      />
      <IsolationNotice />
      <nav className="ways" aria-label="Where the code comes from">
        {ways.map(({ id, icon: Icon, title, words }) => (
          <Link
            key={id}
            href={`/deployments/new?from=${id}`}
            replace
            className="way"
            aria-current={id === way.id ? "page" : undefined}
          >
            <Icon aria-hidden="true" size={20} />
            <b>{title}</b>
            <span className="way-words">{words}</span>
          </Link>
        ))}
      </nav>
      <Form key={way.id} />
    </Page>
  );
}
