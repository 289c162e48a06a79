import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { ApiError, api } from "../../api/client.ts";
import { Button, Dialog, ErrorLine, toast } from "../../ui/index.ts";
import {
  CredentialFields,
  credentialProblems,
  credentialsBody,
  noCredentials,
} from "./credential-fields.tsx";
import { type Destination, destinationsPath } from "./export-api.ts";
import { fieldOfRefusal } from "./form-rules.ts";

export function RotateDialog({ destination, onClose }: { destination: Destination; onClose(): void }) {
  const [value, setValue] = useState(noCredentials);
  const [sent, setSent] = useState(false);
  const client = useQueryClient();
  const form = useId();
  const rotate = useMutation({
    mutationFn: () =>
      api.patch(`${destinationsPath}/${destination.id}`, { credentials: credentialsBody(value) }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["destinations"] });
      toast.good(`${destination.display_name} has new credentials. They work.`);
      onClose();
    },
  });
  const typed = credentialProblems(value);
  const missing = value.key.trim() === "" ? "Which key?" : null;
  const refusal = rotate.error instanceof ApiError ? rotate.error.message : null;
  const place = rotate.error instanceof ApiError ? fieldOfRefusal(rotate.error.code) : null;
  const atField = place === "key" || place === "secret" || place === "token" ? place : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSent(true);
    if (missing || typed.key || typed.secret || value.secret === "") return;
    rotate.mutate();
  };
  return (
    <Dialog
      title={`New credentials for ${destination.display_name}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} look="primary" busy={rotate.isPending}>
            Try and keep
          </Button>
        </>
      }
    >
      <form id={form} className="stack" onSubmit={submit} noValidate>
        <p className="muted">
          Treadle writes a small object with them first. Running exports continue with the old ones; keep
          those valid until they have ended.
        </p>
        <CredentialFields
          value={value}
          onChange={(patch) => {
            setValue((now) => ({ ...now, ...patch }));
            rotate.reset();
          }}
          problems={{
            key: typed.key ?? (sent ? missing : null) ?? (atField === "key" ? refusal : null),
            secret: typed.secret ?? (atField === "secret" ? refusal : null),
            token: atField === "token" ? refusal : null,
          }}
        />
        {atField === null && <ErrorLine error={rotate.error} />}
      </form>
    </Dialog>
  );
}
