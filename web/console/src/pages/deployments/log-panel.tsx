import { useState } from "react";
import { Button, ErrorLine, Skeleton, toast } from "../../ui/index.ts";
import { LogView } from "../../ui/log-view.tsx";
import { failureLine, findFailingLine } from "./failing-line.ts";
import type { Failure } from "./failure-place.ts";
import { type LogPlace, useLog } from "./use-log.ts";

export type LogPanelProps = LogPlace & {
  label: string;
  live: boolean;
  fileName: string;
  empty: string;
  /** Of the address: the id of a line, or the one that says why the revision failed. */
  line?: string | null;
  /** How often a person asked for that line. */
  timesShown?: number;
  failure?: Failure | null;
  lineHref?: (id: string) => string;
};

export function LogPanel(props: LogPanelProps) {
  return <Panel key={`${props.deploymentId} ${props.revisionId} ${props.type}`} {...props} />;
}

function Panel(props: LogPanelProps) {
  const { label, live, fileName, empty, line, timesShown, failure, lineHref, ...place } = props;
  const id = line && /^\d{1,15}$/.test(line) ? line : null;
  const log = useLog(place, live, id);
  const marked = line === failureLine && failure ? findFailingLine(log.lines, failure) : id;
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
      <LogView {...{ label, live, fileName, empty, marked, timesShown, lineHref }} lines={log.lines} />
    </div>
  );
}
