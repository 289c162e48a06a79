import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useLocation, useSearchParams } from "wouter";
import { ApiError, api } from "../../api/client.ts";
import {
  Button,
  ButtonLink,
  Card,
  EmptyState,
  ErrorLine,
  Field,
  Input,
  Page,
  PageHeader,
  type Problems,
  toast,
  useForm,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import {
  CredentialFields,
  credentialProblems,
  credentialsBody,
  noCredentials,
} from "./credential-fields.tsx";
import { type Destination, destinationsPath } from "./export-api.ts";
import { bucketProblem, endpointProblem, fieldOfRefusal, nameProblem } from "./form-rules.ts";

const empty = { name: "", bucket: "", prefix: "", region: "", endpoint: "", ...noCredentials };
type Form = typeof empty;
type Name = keyof Form;

/** Where the server's words about a field of the request go. */
const wireNames: Record<string, Name> = {
  display_name: "name",
  "config.bucket_name": "bucket",
  "config.prefix": "prefix",
  "config.region": "region",
  "config.endpoint_url": "endpoint",
  "credentials.access_key_id": "key",
  "credentials.secret_access_key": "secret",
  "credentials.session_token": "token",
  credentials: "key",
};

export function NewDestinationPage() {
  if (useCan("admin")) return <NewDestination />;
  return (
    <Page title="New destination" width="narrow">
      <EmptyState title="Your key can only read">
        Ask an admin of this workspace for a key with the role admin.
      </EmptyState>
    </Page>
  );
}

function NewDestination() {
  const [, navigate] = useLocation();
  const [params] = useSearchParams();
  const client = useQueryClient();
  const create = useMutation({
    mutationFn: (form: Form) => api.post<Destination>(destinationsPath, bodyOf(form)),
    onSuccess: (made) => {
      client.setQueryData<Destination[]>(["destinations"], (known) => (known ? [...known, made] : known));
      void client.invalidateQueries({ queryKey: ["destinations"] });
      toast.good(`${made.display_name} can be written to.`);
      navigate(params.has("then") ? `/exports/new?destination=${made.id}` : "/exports/destinations");
    },
  });
  const refused = refusalsOf(create.error);
  const { values, set, text, problem, submit } = useForm({
    start: empty,
    check,
    refused,
    judge: "when changed",
    onChange: create.reset,
    send: create.mutate,
  });
  return (
    <Page title="New destination" width="narrow">
      <PageHeader
        title="New destination"
        crumbs={[{ label: "Destinations", href: "/exports/destinations" }]}
        description="A bucket on AWS or on any S3-compatible storage. Treadle writes a small object to it and removes it again; only then is the destination stored."
      />
      <form className="stack" onSubmit={submit} noValidate>
        <Card className="stack">
          <h2>Bucket</h2>
          <Field label="Name" hint="What you call it here." error={problem("name")}>
            <Input {...text("name")} spellCheck={false} placeholder="Data lake" autoFocus />
          </Field>
          <div className="columns">
            <Field label="Bucket" error={problem("bucket")}>
              <Input {...text("bucket")} spellCheck={false} className="mono" placeholder="my-bucket" />
            </Field>
            <Field label="Prefix" optional hint="The folder for all files." error={problem("prefix")}>
              <Input {...text("prefix")} spellCheck={false} className="mono" placeholder="traces" />
            </Field>
          </div>
          <div className="columns">
            <Field label="Region" optional hint="For AWS; us-east-1 if empty." error={problem("region")}>
              <Input {...text("region")} spellCheck={false} className="mono" placeholder="eu-central-1" />
            </Field>
            <Field label="Endpoint" optional hint="For storage other than AWS." error={problem("endpoint")}>
              <Input
                {...text("endpoint")}
                spellCheck={false}
                className="mono"
                inputMode="url"
                placeholder="https://storage.example:9000"
              />
            </Field>
          </div>
        </Card>
        <Card className="stack">
          <h2>Credentials</h2>
          <p className="muted">
            They need <code>s3:PutObject</code> under the prefix. Left empty, those of the machine Treadle
            runs on are used.
          </p>
          <CredentialFields
            value={values}
            onChange={set}
            problems={{ key: problem("key"), secret: problem("secret"), token: problem("token") }}
            optional
          />
        </Card>
        {Object.keys(refused).length === 0 && <ErrorLine error={create.error} />}
        <div className="row">
          <Button type="submit" look="primary" busy={create.isPending}>
            {create.isPending ? "Trying to write…" : "Try and keep"}
          </Button>
          <ButtonLink href="/exports/destinations" look="quiet">
            Cancel
          </ButtonLink>
        </div>
      </form>
    </Page>
  );
}

function check(form: Form): Problems<Form> {
  return {
    name: nameProblem(form.name),
    bucket: bucketProblem(form.bucket),
    endpoint: endpointProblem(form.endpoint),
    ...credentialProblems(form),
  };
}

function bodyOf(form: Form) {
  const given = (text: string) => (text.trim() === "" ? null : text.trim());
  return {
    destination_type: "s3",
    display_name: form.name.trim(),
    config: {
      bucket_name: form.bucket.trim(),
      prefix: form.prefix.trim(),
      region: given(form.region),
      endpoint_url: given(form.endpoint),
    },
    ...(form.key.trim() === "" ? {} : { credentials: credentialsBody(form) }),
  };
}

function refusalsOf(error: unknown): Problems<Form> {
  if (!(error instanceof ApiError)) return {};
  const fields = Object.entries(error.fields);
  if (fields.length > 0) {
    return Object.fromEntries(
      fields.flatMap(([path, message]) => (wireNames[path] ? [[wireNames[path], message]] : [])),
    );
  }
  const place = fieldOfRefusal(error.code);
  return place === null ? {} : { [place]: error.message };
}
