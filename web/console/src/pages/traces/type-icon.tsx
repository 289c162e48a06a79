import { Bot, Braces, Database, FileText, type LucideIcon, Sigma, Workflow, Wrench } from "lucide-react";
import { memo } from "react";

const icons: Readonly<Record<string, LucideIcon>> = {
  llm: Bot,
  tool: Wrench,
  retriever: Database,
  embedding: Sigma,
  prompt: FileText,
  parser: Braces,
};

export const TypeIcon = memo(function TypeIcon({ type }: { type: string }) {
  const Icon = icons[type] ?? Workflow;
  return (
    <span className={`type-icon ${type}`} role="img" aria-label={type} title={type}>
      <Icon aria-hidden="true" size={14} />
    </span>
  );
});
