import type { Answers } from "../../api/wire.ts";
import { ButtonLink, Card, CopyButton } from "../../ui/index.ts";

/** The secret is shown once, here. */
export function MadeCard({ title, made }: { title: string; made: Answers["create_alert"] }) {
  return (
    <Card className="stack">
      <h2>{title}</h2>
      {made.webhook_secret !== null && (
        <>
          <p>
            This secret signs the requests to the webhook. It is shown only now; the signature is in{" "}
            <code>x-treadle-signature</code>.
          </p>
          <div className="row address">
            <code className="break">{made.webhook_secret}</code>
            <CopyButton text={made.webhook_secret} label="Copy the secret" />
          </div>
        </>
      )}
      <div className="row">
        <ButtonLink href={`/alerts/${made.id}`} look="primary">
          Open the alert
        </ButtonLink>
      </div>
    </Card>
  );
}
