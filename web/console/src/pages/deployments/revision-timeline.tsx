import { Check, Circle, LoaderCircle, Minus, X } from "lucide-react";
import { Duration, formatDuration } from "../../ui/index.ts";
import type { Revision } from "./deployment-api.ts";
import { isOpen } from "./deployment-api.ts";
import { type PhaseState, phasesOf, stepsOf } from "./timeline.ts";

const icons: Record<PhaseState, typeof Check> = {
  waiting: Circle,
  going: LoaderCircle,
  done: Check,
  failed: X,
  "left-out": Minus,
  unreached: Minus,
};
const words: Record<PhaseState, string> = {
  waiting: "to come",
  going: "under way",
  done: "done",
  failed: "failed",
  "left-out": "not needed",
  unreached: "not reached",
};

/** Queue, build, deploy: how far it is, and what each took. */
export function PhaseBar({ revision }: { revision: Revision }) {
  return (
    <ol className="phases" aria-label="Phases">
      {phasesOf(revision).map(({ name, state, ms, since }) => {
        const Icon = icons[state];
        return (
          <li key={name} className={`phase ${state}`}>
            <span className="phase-icon" aria-hidden="true">
              <Icon size={14} />
            </span>
            <span>
              <b>{name}</b>
              <span className="phase-time">
                <span className="spoken">{words[state]} </span>
                {ms !== null ? (
                  formatDuration(ms)
                ) : state === "going" && since ? (
                  <Duration since={since} />
                ) : (
                  words[state]
                )}
              </span>
            </span>
          </li>
        );
      })}
    </ol>
  );
}

/** Everything that happened to a revision, with the time each step took. */
export function Timeline({ revision }: { revision: Revision }) {
  const steps = stepsOf(revision.events);
  const longest = Math.max(1, ...steps.map(({ ms }) => ms ?? 0));
  return (
    <ol className="timeline" aria-label="Timeline">
      {steps.map(({ id, status, message, created_at, ms }, index) => {
        const last = index === steps.length - 1;
        const failed = status !== null && /FAILED|INTERRUPTED/.test(status);
        return (
          <li
            key={id}
            className={failed ? "failed" : last && isOpen(revision.status) ? "going" : status ? "major" : ""}
          >
            <span className="timeline-dot" aria-hidden="true" />
            <time dateTime={created_at}>{new Date(created_at).toLocaleTimeString()}</time>
            <span className="timeline-text">{message}</span>
            <span className="timeline-took">
              {ms === null ? (
                last && isOpen(revision.status) && <Duration since={created_at} />
              ) : (
                <>
                  <span className="timeline-bar" aria-hidden="true">
                    <span style={{ width: `${Math.max(2, (ms / longest) * 100)}%` }} />
                  </span>
                  <Duration ms={ms} />
                </>
              )}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
