import { Tabs } from "../../ui/index.ts";

export function EvaluationTabs({ current }: { current: "datasets" | "queues" }) {
  return (
    <Tabs
      label="Evaluation"
      current={current}
      tabs={[
        { id: "datasets", label: "Datasets", href: "/datasets" },
        { id: "queues", label: "Annotation queues", href: "/queues" },
      ]}
    />
  );
}
