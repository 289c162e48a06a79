import { CircleX } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { Card } from "../../ui/index.ts";
import { type Failure, hasMore, placeOf } from "./failure-place.ts";

/** Why a revision failed, in the words of the project's own tools; what the platform has to say is folded. */
export function FailureCard({
  failure,
  told,
  logHref,
  onShow,
  children,
}: {
  failure: Failure;
  told: string | null;
  logHref: string;
  /** On every click, also where the address is this one already. */
  onShow(): void;
  /** What to do about it. */
  children: ReactNode;
}) {
  return (
    <Card className="stack danger-card">
      <h2>Why it failed</h2>
      <FailureLine failure={failure} logHref={logHref} onShow={onShow} />
      {hasMore(failure) && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
        <pre className="failure-output" tabIndex={0}>
          {failure.output.join("\n")}
        </pre>
      )}
      {children}
      {told !== null && (
        <details className="more">
          <summary>What the platform recorded</summary>
          <p className="revision-message bad">{told}</p>
        </details>
      )}
    </Card>
  );
}

/** The place and the reason, in one line that leads to the line of the log. */
export function FailureLine({
  failure,
  logHref,
  onShow,
}: {
  failure: Failure;
  logHref: string;
  onShow?(): void;
}) {
  const place = placeOf(failure);
  return (
    <p className="failure-line">
      <CircleX aria-hidden="true" size={17} className="failure-icon" />
      <span>
        {place !== null && <code>{place}</code>} {failure.reason}{" "}
        <Link href={logHref} className="failure-log" onClick={onShow}>
          Show it in the log
        </Link>
      </span>
    </p>
  );
}
