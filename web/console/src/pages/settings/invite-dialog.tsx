import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { api } from "../../api/client.ts";
import type { Answers } from "../../api/wire.ts";
import { Button, CopyBlock, CopyButton, Dialog, ErrorLine, Skeleton, Time } from "../../ui/index.ts";
import type { Member } from "./settings-api.ts";

/** Makes a link for a member who never signed in, and shows it this once. */
export function InviteDialog({ member, onClose }: { member: Member; onClose(): void }) {
  // Each opening makes one link, and asks for no other when the members change: a new one would end the one that was copied.
  const opening = useId();
  const { data, error } = useQuery({
    queryKey: ["invitation", member.user_id, opening],
    enabled: ({ state }) => state.data === undefined,
    queryFn: () => api.post<Answers["invite_member"]>(`/v2/members/${member.user_id}/invitation`),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  return (
    <Dialog
      title={`Invite ${member.name || member.email}`}
      onClose={onClose}
      footer={
        <>
          {data && <CopyButton text={data.url} label="Copy the link" words="Copy" />}
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      <div className="stack">
        {data ? (
          <>
            <p>
              Send this link to {member.email}. It signs them in once and ends <Time at={data.expires_at} />.
              It is shown only once.
            </p>
            <CopyBlock label="the link" text={data.url} />
          </>
        ) : (
          !error && <Skeleton lines={2} />
        )}
        <ErrorLine error={error} />
      </div>
    </Dialog>
  );
}
