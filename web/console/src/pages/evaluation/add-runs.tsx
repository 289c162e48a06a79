import { Database, ListChecks } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Button } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import type { AddRunsTarget } from "./add-runs-dialog.tsx";

const AddRunsDialog = lazy(() => import("./add-runs-dialog.tsx"));

/** Buttons for pages that show runs: add to a dataset, or to an annotation queue. */
export function AddRuns({ runIds, onAdded }: { runIds: readonly string[]; onAdded?: () => void }) {
  const [to, setTo] = useState<AddRunsTarget | null>(null);
  if (!useCan("editor")) return null;
  return (
    <>
      <Button size="small" icon={Database} onClick={() => setTo("dataset")}>
        Add to dataset
      </Button>
      <Button size="small" icon={ListChecks} onClick={() => setTo("queue")}>
        Add to queue
      </Button>
      {to !== null && (
        <Suspense>
          <AddRunsDialog to={to} runIds={runIds} onClose={() => setTo(null)} onAdded={onAdded} />
        </Suspense>
      )}
    </>
  );
}
