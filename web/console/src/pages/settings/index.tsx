import { useSearch } from "wouter";
import { Page, PageHeader, Tabs } from "../../ui/index.ts";
import { AuditTab } from "./audit-tab.tsx";
import { GitTab } from "./git-tab.tsx";
import { KeysTab } from "./keys-tab.tsx";
import { ListenersTab } from "./listeners-tab.tsx";
import { MembersTab } from "./members-tab.tsx";
import { ModelsTab } from "./models-tab.tsx";
import { SessionsTab } from "./sessions-tab.tsx";
import { WorkspacesTab } from "./workspaces-tab.tsx";
import "./settings.css";

const tabs = [
  { id: "keys", label: "API keys", href: "/settings" },
  { id: "members", label: "Members", href: "/settings?tab=members" },
  { id: "models", label: "Models", href: "/settings?tab=models" },
  { id: "git", label: "Git", href: "/settings?tab=git" },
  { id: "listeners", label: "Listeners", href: "/settings?tab=listeners" },
  { id: "sessions", label: "Sessions", href: "/settings?tab=sessions" },
  { id: "workspaces", label: "Workspaces", href: "/settings?tab=workspaces" },
  { id: "audit", label: "Audit", href: "/settings?tab=audit" },
] as const;

export default function SettingsPages() {
  const wanted = new URLSearchParams(useSearch()).get("tab");
  const current = tabs.find(({ id }) => id === wanted)?.id ?? "keys";
  return (
    <Page title="Settings">
      <PageHeader title="Settings" description="Who may use this workspace, and with which keys." />
      <Tabs label="Settings" tabs={tabs} current={current} />
      {current === "keys" && <KeysTab />}
      {current === "members" && <MembersTab />}
      {current === "models" && <ModelsTab />}
      {current === "git" && <GitTab />}
      {current === "listeners" && <ListenersTab />}
      {current === "sessions" && <SessionsTab />}
      {current === "workspaces" && <WorkspacesTab />}
      {current === "audit" && <AuditTab />}
    </Page>
  );
}
