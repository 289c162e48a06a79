import { useState } from "react";
import { Button, ErrorLine, Skeleton, toast } from "../../ui/index.ts";
import { LogView } from "../../ui/log-view.tsx";
import { type LogPlace, useLog } from "./use-log.ts";

export type LogPanelProps = LogPlace & {
  label: string;
  live: boolean;
  fileName: string;
  empty: string;
};

export function LogPanel(props: LogPanelProps) {
  return <Panel key={`${props.deploymentId} ${props.revisionId} ${props.type}`} {...props} />;
}

function Panel({ label, live, fileName, empty, ...place }: LogPanelProps) {
  const log = useLog(place, live);
  const [busy, setBusy] = useState(false);
  const earlier = async () => {
    setBusy(true);
    await log.loadEarlier().catch((error: unknown) => toast.bad(error));
    setBusy(false);
  };
  if (log.loading) return <Skeleton lines={1} height="20rem" />;
  return (
    <div className="stack log-panel">
      <ErrorLine error={log.error} />
      {log.hasEarlier && (
        <Button size="small" busy={busy} onClick={() => void earlier()}>
          Load earlier lines
        </Button>
      )}
      <LogView label={label} lines={log.lines} live={live} fileName={fileName} empty={empty} />
    </div>
  );
}
