import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, api } from "../../api/client.ts";
import { ConfirmDialog, toast } from "../../ui/index.ts";
import { type Account, labelOf } from "./connections-api.ts";

/** Revokes at the provider first. One that cannot be reached leaves the choice to delete it here alone. */
export function RevokeDialog({
  account,
  provider,
  onClose,
}: {
  account: Account;
  provider: string;
  onClose(): void;
}) {
  const client = useQueryClient();
  const [refused, setRefused] = useState(false);
  return (
    <ConfirmDialog
      title={`Revoke ${labelOf(account)}?`}
      action={refused ? "Delete it here only" : "Revoke"}
      onClose={onClose}
      onConfirm={async () => {
        try {
          await api.delete(`/v2/auth/tokens/${account.id}${refused ? "?force=true" : ""}`);
        } catch (error) {
          if (!(error instanceof ApiError) || error.status !== 502) throw error;
          setRefused(true);
          throw new Error(
            `${provider} did not revoke it, so it was kept. You can try again later, or delete it here only.`,
          );
        }
        toast.good(refused ? "Deleted here." : `Revoked at ${provider} and deleted.`);
        onClose();
        await client.invalidateQueries({ queryKey: ["connections"] });
      }}
    >
      Its access is revoked at {provider}, and it is deleted here. Agents that use it must ask again.
    </ConfirmDialog>
  );
}
