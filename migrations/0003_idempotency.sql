-- Answers given for an Idempotency-Key, kept for a day. A row without an answer is a request being answered:
-- its claim can be taken over after claimed_until, should the process have died.
create table idempotency_keys (
  workspace_id uuid not null,
  operation text not null,
  key text not null,
  request_hash text not null,
  claim_id uuid not null,
  claimed_until timestamptz not null,
  expires_at timestamptz not null,
  -- Sealed: an answer can hold a secret that is shown only once.
  answer text,
  created_at timestamptz not null default now(),
  primary key (workspace_id, operation, key)
);

create index idempotency_keys_expires_at on idempotency_keys (expires_at);
