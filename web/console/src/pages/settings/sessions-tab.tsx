import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import type { Answers, ConsoleSession } from "../../api/wire.ts";
import { session } from "../../session.ts";
import {
  Badge,
  Button,
  ConfirmDialog,
  ErrorState,
  Section,
  Skeleton,
  Table,
  Time,
  toast,
} from "../../ui/index.ts";
import { browserName } from "./browser-name.ts";

const methods = { key: "API key", link: "One-time link", oidc: "Single sign-on" } as const;
const path = "/v2/auth/sessions";

/** Where one is signed in. */
export function SessionsTab() {
  const client = useQueryClient();
  const [ending, setEnding] = useState(false);
  const found = useQuery({
    queryKey: ["settings", "sessions"],
    // What happens elsewhere is not hinted at.
    staleTime: 0,
    queryFn: async ({ signal }) => (await api.get<Answers["list_sessions"]>(path, { signal })).resources,
  });
  const reload = () => client.invalidateQueries({ queryKey: ["settings", "sessions"] });
  const end = async (row: ConsoleSession) => {
    try {
      if (row.current) await session.signOut();
      else await api.delete(`${path}/${row.id}`);
      if (!row.current) toast.good("That browser is signed out.");
    } catch (error) {
      toast.bad(error);
    }
    await reload();
  };
  const others = found.data?.filter((row) => !row.current).length ?? 0;
  return (
    <Section
      title="Your sessions"
      actions={
        others > 0 && (
          <Button look="danger" onClick={() => setEnding(true)}>
            Sign out everywhere else
          </Button>
        )
      }
    >
      <p className="muted">
        Each browser in which you are signed in. If you do not know one, sign it out and revoke the key it was
        started with.
      </p>
      {found.data ? (
        <Table
          label="Sessions"
          rows={found.data}
          rowKey={({ id }) => id}
          columns={[
            {
              key: "browser",
              header: "Browser",
              grow: true,
              cell: (row: ConsoleSession) => (
                <span className="row" title={row.user_agent}>
                  <b>{browserName(row.user_agent)}</b>
                  {row.current && <Badge tone="good">this one</Badge>}
                </span>
              ),
            },
            { key: "address", header: "Address", cell: (row) => <code>{row.address ?? "–"}</code> },
            { key: "method", header: "Signed in with", cell: (row) => methods[row.method] },
            { key: "created", header: "Since", align: "right", cell: (row) => <Time at={row.created_at} /> },
            {
              key: "seen",
              header: "Last used",
              align: "right",
              cell: (row) => <Time at={row.last_seen_at} />,
            },
            {
              key: "expires",
              header: "Ends",
              align: "right",
              wideOnly: true,
              cell: (row) => <Time at={row.expires_at} />,
            },
            {
              key: "actions",
              header: <span className="spoken">Actions</span>,
              align: "right",
              cell: (row) => (
                <Button
                  look="danger"
                  size="small"
                  aria-label={`Sign out ${row.current ? "this browser" : browserName(row.user_agent)}`}
                  onClick={() => end(row)}
                >
                  Sign out
                </Button>
              ),
            },
          ]}
        />
      ) : found.error ? (
        <ErrorState error={found.error} retry={() => found.refetch()} />
      ) : (
        <Skeleton lines={2} height="3rem" />
      )}
      {ending && (
        <ConfirmDialog
          title="Sign out everywhere else?"
          action="Sign out"
          onClose={() => setEnding(false)}
          onConfirm={async () => {
            const { ended } = await api.delete<Answers["sign_out_everywhere"]>(path);
            toast.good(`Signed out elsewhere: ${ended}.`);
            setEnding(false);
            await reload();
          }}
        >
          You have to sign in again in every other browser. You stay signed in here.
        </ConfirmDialog>
      )}
    </Section>
  );
}
