import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link2, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api/client.ts";
import {
  Button,
  Card,
  ConfirmDialog,
  EmptyState,
  ErrorState,
  Facts,
  Page,
  PageHeader,
  Section,
  Skeleton,
  Time,
  toast,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { ConnectDialog } from "./connect-dialog.tsx";
import { type Provider, useProviders } from "./connections-api.ts";
import { EditProviderDialog } from "./edit-provider-dialog.tsx";
import { RedirectUri } from "./redirect-uri.tsx";

const home = { label: "Connections", href: "/connections?tab=providers" };

export function ProviderPage({ providerId }: { providerId: string }) {
  const found = useProviders();
  const provider = found.data?.find((one) => one.provider_id === providerId);
  if (provider) return <Found provider={provider} />;
  return (
    <Page title={providerId}>
      <PageHeader title={providerId} crumbs={[home]} />
      {found.error && !found.data ? (
        <ErrorState error={found.error} retry={() => found.refetch()} />
      ) : found.isPending ? (
        <Skeleton lines={4} height="3rem" />
      ) : (
        <EmptyState title="There is no such provider here">It may have been deleted.</EmptyState>
      )}
    </Page>
  );
}

type Open = "connect" | "edit" | "delete" | null;

function Found({ provider }: { provider: Provider }) {
  const mayChange = useCan("editor");
  const [open, setOpen] = useState<Open>(null);
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api.delete(`/v2/auth/providers/${encodeURIComponent(provider.provider_id)}`),
    onSuccess: async () => {
      toast.good(`${provider.name} is deleted. Its accounts are being revoked.`);
      navigate("/connections?tab=providers");
      await client.invalidateQueries({ queryKey: ["connections"] });
    },
  });
  const close = () => setOpen(null);
  return (
    <Page title={provider.name}>
      <PageHeader
        title={provider.name}
        crumbs={[home]}
        actions={
          mayChange && (
            <>
              <Button icon={Trash2} look="danger" onClick={() => setOpen("delete")}>
                Delete
              </Button>
              <Button icon={Pencil} onClick={() => setOpen("edit")}>
                Edit
              </Button>
              <Button icon={Link2} look="primary" onClick={() => setOpen("connect")}>
                Connect my account
              </Button>
            </>
          )
        }
      />
      <Card>
        <Facts
          items={[
            ["Id", <code key="id">{provider.provider_id}</code>],
            ["Client id", <code key="client">{provider.client_id}</code>],
            ["Client", provider.is_dynamic_client ? "Registered by itself" : "Registered by a person"],
            ["PKCE", provider.uses_pkce ? "Yes" : "No"],
            ["Changed", <Time key="changed" at={provider.updated_at} />],
          ]}
        />
      </Card>
      <Section title="Addresses">
        <Card className="stack addresses">
          {!provider.is_dynamic_client && (
            <RedirectUri uri={provider.default_redirect_uri} where={provider.name} />
          )}
          <Facts
            items={[
              ...(provider.mcp_server_url ? ([["MCP server", provider.mcp_server_url]] as const) : []),
              ["Authorization URL", provider.auth_url],
              ["Token URL", provider.token_url],
              ["Revocation URL", provider.revocation_url ?? "Not known: accounts are deleted here only"],
            ]}
          />
        </Card>
      </Section>
      {open === "connect" && <ConnectDialog providers={[provider]} account={null} onClose={close} />}
      {open === "edit" && <EditProviderDialog provider={provider} onClose={close} />}
      {open === "delete" && (
        <ConfirmDialog
          title={`Delete ${provider.name}?`}
          action="Delete"
          typeToConfirm={provider.provider_id}
          onClose={close}
          onConfirm={() => remove.mutateAsync()}
        >
          Nobody can use it from now on. All accounts people have connected there are revoked and deleted.
          This cannot be undone.
        </ConfirmDialog>
      )}
    </Page>
  );
}
