import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Globe, Plus, RefreshCw, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { ApiError, api } from "../../api/client.ts";
import type { Answers, DeploymentDomain } from "../../api/wire.ts";
import {
  Badge,
  Button,
  Card,
  ConfirmDialog,
  CopyButton,
  ErrorLine,
  Field,
  formatExact,
  Input,
  Skeleton,
  Time,
  toast,
} from "../../ui/index.ts";
import { type Deployment, deploymentPath } from "./deployment-api.ts";
import "./domains.css";

const domainsPath = (deploymentId: string) => `${deploymentPath(deploymentId)}/domains`;

/** Hosts of its own, at whose root the deployment is served. */
export function DomainsCard({ deployment }: { deployment: Deployment }) {
  const { id } = deployment;
  const domains = useQuery({
    queryKey: ["deployments", id, "domains"],
    queryFn: ({ signal }) => api.get<Answers["list_deployment_domains"]>(domainsPath(id), { signal }),
    enabled: !deployment.is_preview,
  });
  if (deployment.is_preview) return null;
  return (
    <Card className="stack">
      <div>
        <h2>Domains</h2>
        <p className="muted">
          Serve this deployment at a host of your own, such as agent.example.com. You prove that the host is
          yours with a DNS record, and your proxy ends TLS for it.
        </p>
      </div>
      {domains.isPending && <Skeleton lines={1} />}
      <ErrorLine error={domains.error} />
      {domains.data && domains.data.resources.length > 0 && (
        <ul className="bare stack domains" aria-label="Domains">
          {domains.data.resources.map((domain) => (
            <DomainRow key={domain.domain} deploymentId={id} domain={domain} />
          ))}
        </ul>
      )}
      <AddDomain deploymentId={id} />
    </Card>
  );
}

/** Everything about the deployment: its verified domains are among its addresses. */
function useReload(deploymentId: string) {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: ["deployments", deploymentId] });
}

function AddDomain({ deploymentId }: { deploymentId: string }) {
  const [domain, setDomain] = useState("");
  const reload = useReload(deploymentId);
  const add = useMutation({
    mutationFn: () => api.post<DeploymentDomain>(domainsPath(deploymentId), { domain: domain.trim() }),
    onSuccess: (added) => {
      setDomain("");
      tell(added);
      return reload();
    },
  });
  const fields = add.error instanceof ApiError ? add.error.fields : {};
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (domain.trim() !== "") add.mutate();
  };
  return (
    <form className="stack" onSubmit={submit} noValidate>
      <div className="domain-add">
        <Field label="Domain" error={fields.domain}>
          <Input
            placeholder="agent.example.com"
            spellCheck={false}
            autoCapitalize="none"
            value={domain}
            onChange={(event) => setDomain(event.target.value)}
          />
        </Field>
        <Button type="submit" icon={Plus} busy={add.isPending} disabled={domain.trim() === ""}>
          Add domain
        </Button>
      </div>
      {fields.domain === undefined && <ErrorLine error={add.error} />}
    </form>
  );
}

function DomainRow({ deploymentId, domain }: { deploymentId: string; domain: DeploymentDomain }) {
  const [asking, setAsking] = useState(false);
  const reload = useReload(deploymentId);
  const path = `${domainsPath(deploymentId)}/${encodeURIComponent(domain.domain)}`;
  const check = useMutation({
    mutationFn: () => api.post<DeploymentDomain>(`${path}/verify`),
    onSuccess: (checked) => {
      tell(checked);
      return reload();
    },
  });
  const isVerified = domain.state === "verified";
  const isMissing = isVerified && domain.problem !== null;
  return (
    <li className="stack domain">
      <div className="row domain-head">
        <Globe aria-hidden="true" size={16} />
        {isVerified ? (
          <a href={domain.url} target="_blank" rel="noopener noreferrer" className="break">
            {domain.domain}
          </a>
        ) : (
          <b className="break">{domain.domain}</b>
        )}
        <Badge tone={isVerified && !isMissing ? "good" : "warn"}>
          {isMissing ? "Record missing" : isVerified ? "Verified" : "Not verified"}
        </Badge>
        <span className="row domain-actions">
          {(!isVerified || isMissing) && (
            <Button size="small" icon={RefreshCw} busy={check.isPending} onClick={() => check.mutate()}>
              Check now
            </Button>
          )}
          <Button
            size="small"
            look="quiet"
            icon={Trash2}
            aria-label={`Remove ${domain.domain}`}
            onClick={() => setAsking(true)}
          >
            Remove
          </Button>
        </span>
      </div>
      {(!isVerified || isMissing) && <ProofRecord domain={domain} />}
      <ErrorLine error={check.error} />
      {asking && (
        <ConfirmDialog
          title="Remove this domain?"
          action="Remove"
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await api.delete(path);
            toast.good(`${domain.domain} is removed.`);
            await reload();
          }}
        >
          {isVerified ? (
            <>
              Requests to <strong>{domain.domain}</strong> stop working at once.
            </>
          ) : (
            <>
              <strong>{domain.domain}</strong> is not verified yet, so nothing is served there.
            </>
          )}
        </ConfirmDialog>
      )}
    </li>
  );
}

/** What to add at the DNS provider, ready to copy. */
function ProofRecord({ domain }: { domain: DeploymentDomain }) {
  const { type, name, value } = domain.record;
  return (
    <div className="stack domain-proof">
      <p>Add this record at your DNS provider, then check it here:</p>
      <dl className="domain-record">
        <dt>Type</dt>
        <dd>
          <code>{type}</code>
        </dd>
        <dt>Name</dt>
        <dd>
          <code className="break">{name}</code>
          <CopyButton text={name} label="Copy the name of the record" />
        </dd>
        <dt>Value</dt>
        <dd>
          <code className="break">{value}</code>
          <CopyButton text={value} label="Copy the value of the record" />
        </dd>
      </dl>
      {domain.problem && <p className="domain-problem">{domain.problem.message}</p>}
      <p className="muted small">
        {domain.checked_at && (
          <>
            Last check: <Time at={domain.checked_at} />.{" "}
          </>
        )}
        {domain.expires_at &&
          `Removed on ${formatExact(new Date(domain.expires_at))}, unless it is verified by then.`}
      </p>
    </div>
  );
}

function tell({ domain, state, problem }: DeploymentDomain): void {
  if (state === "verified" && problem === null) toast.good(`${domain} is verified and served.`);
}
