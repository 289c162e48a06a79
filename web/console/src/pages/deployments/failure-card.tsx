import { CircleX } from "lucide-react";
import { Card } from "../../ui/index.ts";
import { type Failure, hasMore, placeOf } from "./failure-place.ts";

/** Why a revision failed, in the words of the project's own tools; what the platform has to say is folded. */
export function FailureCard({ failure, told }: { failure: Failure; told: string | null }) {
  return (
    <Card className="stack danger-card">
      <h2>Why it failed</h2>
      <FailureLine failure={failure} />
      {hasMore(failure) && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
        <pre className="failure-output" tabIndex={0}>
          {failure.output.join("\n")}
        </pre>
      )}
      {told !== null && (
        <details className="more">
          <summary>What the platform recorded</summary>
          <p className="revision-message bad">{told}</p>
        </details>
      )}
    </Card>
  );
}

/** The place and the reason, in one line. */
export function FailureLine({ failure }: { failure: Failure }) {
  const place = placeOf(failure);
  return (
    <p className="failure-line">
      <CircleX aria-hidden="true" size={17} className="failure-icon" />
      <span>
        {place !== null && <code>{place}</code>} {failure.reason}
      </span>
    </p>
  );
}
