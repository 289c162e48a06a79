import { useMutation } from "@tanstack/react-query";
import { Button, Card, ErrorLine, Field, Input, type Problems, useForm } from "../../../ui/index.ts";
import { createIntegration } from "./use-git-deploy.ts";

type Values = { host: string; token: string };

/** A git host that repositories are chosen from: a token, typed once. */
export function ConnectHost({
  onDone,
  onCancel,
}: {
  onDone(integrationId: string): Promise<void>;
  onCancel: (() => void) | undefined;
}) {
  const connect = useMutation({
    mutationFn: async ({ host, token }: Values) => {
      const name = host.trim().replace(/^https?:\/\//, "");
      const made = await createIntegration({ name, host: host.trim(), token: token.trim() });
      await onDone(made.id);
    },
  });
  const { text, problem, submit } = useForm<Values>({
    start: { host: "github.com", token: "" },
    check: ({ host, token }): Problems<Values> => ({
      host: host.trim() === "" ? "Name the host, for example github.com." : null,
      token: token.trim() === "" ? "Paste a token that may read the repositories." : null,
    }),
    judge: "when sent",
    send: connect.mutate,
  });
  return (
    <form className="stack" onSubmit={submit} noValidate>
      <Card className="stack">
        <h2>Connect an account</h2>
        <p className="muted">
          With a token of GitHub, of gitlab.com, or of a host with GitHub's interface, you choose from the
          repositories it may read. It is tried first, stored encrypted, sent to that host alone, and never
          shown again.
        </p>
        <div className="columns">
          <Field label="Host" error={problem("host")}>
            <Input spellCheck={false} {...text("host")} />
          </Field>
          <Field label="Access token" error={problem("token")}>
            <Input
              className="mono"
              type="password"
              autoComplete="new-password"
              spellCheck={false}
              {...text("token")}
            />
          </Field>
        </div>
        <ErrorLine error={connect.error} />
        <div className="row">
          <Button type="submit" look="primary" busy={connect.isPending}>
            Connect
          </Button>
          {onCancel && (
            <Button look="quiet" onClick={onCancel}>
              Cancel
            </Button>
          )}
        </div>
      </Card>
    </form>
  );
}
