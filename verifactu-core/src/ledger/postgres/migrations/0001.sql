-- Texts are compared byte by byte ("C"), whatever the database's own order is.

-- One row: the stamp of the ledger, a counter that proves it can be written, and the server whose chains
-- go on.
CREATE TABLE ledger (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  environment text NOT NULL,
  schema_version bigint NOT NULL,
  probes bigint NOT NULL DEFAULT 0,
  server text NOT NULL
);

-- The server and its history: another cluster has another number, and one that a replica was promoted to,
-- or that was restored to a point in time, has another timeline. A plain restart keeps both. Where a server
-- does not tell, nothing is known of it.
CREATE FUNCTION this_server() RETURNS text LANGUAGE plpgsql AS
  $$ BEGIN
    RETURN (SELECT system_identifier FROM pg_control_system()) || '/'
      || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
  EXCEPTION WHEN undefined_function OR insufficient_privilege OR feature_not_supported THEN
    RETURN 'unknown';
  END $$;

-- For the operator, once it is certain that the server has every record that was acknowledged.
CREATE FUNCTION confirm_server() RETURNS text LANGUAGE sql AS
  $$ UPDATE ledger SET server = this_server() RETURNING server $$;

-- The row is rewritten with every record, in place as long as no indexed column changes and there is
-- room on its page: hence `busy`, and the fill factor.
CREATE TABLE chain (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  tenant text COLLATE "C" NOT NULL,
  issuer text COLLATE "C" NOT NULL,
  producer text COLLATE "C" NOT NULL,
  system text COLLATE "C" NOT NULL,
  installation text COLLATE "C" NOT NULL,
  minted boolean NOT NULL,
  epoch bigint NOT NULL DEFAULT 0,
  length bigint NOT NULL DEFAULT 0,
  last_huella text,
  last_number text,
  pending bigint NOT NULL DEFAULT 0 CHECK (pending >= 0),
  next_slot_at bigint,
  wait_seconds bigint,
  last_slot text,
  unreachable_count bigint NOT NULL DEFAULT 0,
  suspects text,
  hold text,
  hold_reason text COLLATE "C",
  closed boolean NOT NULL DEFAULT false,
  updated_at bigint NOT NULL,
  busy boolean GENERATED ALWAYS AS (pending > 0 AND hold IS NULL) STORED,
  CONSTRAINT chain_key UNIQUE (tenant, issuer, producer, system, installation)
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX chain_minted ON chain (tenant, issuer, producer, system) WHERE minted;
CREATE INDEX chain_busy ON chain (id) WHERE busy;
CREATE INDEX chain_held ON chain (hold_reason) WHERE hold_reason IS NOT NULL;

-- Numbers of records in the order in which they are written. A number that was drawn for a record that
-- was not written is missing, and does no harm.
CREATE SEQUENCE record_number_of;

-- The fiscal record. It never changes. The two indexes on the chain make a fork impossible. `nth` numbers
-- the account's records of an invoice, so the index on the invoice makes it impossible that two of them,
-- on whatever chains, are sealed without knowing of each other.
CREATE TABLE record (
  seq bigint PRIMARY KEY,
  id uuid NOT NULL,
  chain bigint NOT NULL,
  position bigint NOT NULL CHECK (position > 0),
  tenant text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  issuer text COLLATE "C" NOT NULL,
  number text COLLATE "C" NOT NULL,
  date text COLLATE "C" NOT NULL,
  issuer_name text NOT NULL,
  total bigint,
  external_reference text,
  huella text COLLATE "C" NOT NULL,
  previous text COLLATE "C" CHECK ((previous IS NULL) = (position = 1)),
  generated_at text NOT NULL,
  xml bytea NOT NULL,
  nth bigint NOT NULL CHECK (nth > 0),
  CONSTRAINT record_id UNIQUE (id),
  CONSTRAINT record_position UNIQUE (chain, position),
  CONSTRAINT record_link UNIQUE (chain, previous)
);
CREATE UNIQUE INDEX record_invoice ON record (tenant, issuer, number, date, nth);
CREATE INDEX record_by_number ON record (tenant, number);

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation'; END $$;
-- Instead of a foreign key from the record, which would be looked up for each, though the row is locked.
CREATE TRIGGER chain_kept BEFORE DELETE ON chain
  FOR EACH ROW EXECUTE FUNCTION refuse('a chain is kept');
CREATE TRIGGER chains_kept BEFORE TRUNCATE ON chain
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('a chain is kept');
CREATE TRIGGER record_unchanged BEFORE UPDATE OR DELETE ON record
  FOR EACH ROW EXECUTE FUNCTION refuse('a record never changes, and never leaves its chain');
CREATE TRIGGER record_kept BEFORE TRUNCATE ON record
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('a record never leaves its chain');

-- The bytes a record was first sent as, kept for every later sending.
CREATE TABLE sent (
  record bigint PRIMARY KEY REFERENCES record (seq),
  xml bytea NOT NULL
);

-- A job has the number of its record, and is written together with it. Turn and due_at follow from state,
-- standing, sent and next_retry_at; both are null once the job is final. Class and code are the failure's.
-- Tenant, issuer, number and date are the record's, for lists.
CREATE TABLE job (
  seq bigint PRIMARY KEY,
  id uuid NOT NULL,
  chain bigint NOT NULL,
  position bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  issuer text COLLATE "C" NOT NULL,
  number text COLLATE "C" NOT NULL,
  date text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  request uuid NOT NULL,
  state text COLLATE "C" NOT NULL,
  standing text COLLATE "C" NOT NULL,
  attempts bigint NOT NULL,
  sent boolean NOT NULL,
  alone boolean NOT NULL DEFAULT false,
  next_retry_at bigint,
  failure text,
  failure_class text COLLATE "C",
  failure_code bigint,
  csv text,
  answer text,
  completed_at bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  turn text COLLATE "C",
  due_at bigint,
  answer_line bytea,
  CONSTRAINT job_id UNIQUE (id)
) WITH (fillfactor = 80);
CREATE INDEX job_never_sent ON job (chain, position, turn, due_at, state, created_at)
  WHERE turn IN ('first', 'barrier');
CREATE INDEX job_again ON job (chain, due_at, state, created_at) WHERE turn = 'again';
CREATE INDEX job_doubtful ON job (chain, due_at) WHERE standing = 'in_doubt' AND turn IS NOT NULL;
-- Lists of an account, newest first. What most jobs have in common is not indexed once more. A series or
-- a range of dates is looked for in the index itself, which is walked in the order of the list.
CREATE INDEX job_listed ON job (tenant, created_at, seq, number, date);
CREATE INDEX job_by_issuer ON job (tenant, issuer, created_at, seq);
CREATE INDEX job_by_state ON job (tenant, state, created_at, seq) WHERE state <> 'succeeded';
CREATE INDEX job_by_standing ON job (tenant, standing, created_at, seq) WHERE standing <> 'accepted';
CREATE INDEX job_cancels ON job (tenant, created_at, seq) WHERE kind = 'cancel';
-- Searches of operators.
CREATE INDEX job_request ON job (request);
CREATE INDEX job_age ON job (created_at, seq);
CREATE INDEX job_unsettled ON job (created_at, seq) WHERE state <> 'succeeded';

CREATE TABLE attempt (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  job bigint NOT NULL,
  started_at bigint NOT NULL,
  duration_ms bigint NOT NULL,
  outcome text NOT NULL,
  code bigint,
  message uuid
);
CREATE INDEX attempt_job ON attempt (job, seq);

CREATE TABLE message (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  chain bigint NOT NULL REFERENCES chain (seq),
  at bigint NOT NULL,
  digest bytea NOT NULL,
  incident boolean NOT NULL,
  slot text NOT NULL,
  settled_at bigint,
  answer bytea
);
CREATE INDEX message_open ON message (chain, seq) WHERE settled_at IS NULL;

CREATE TABLE message_record (
  message bigint NOT NULL REFERENCES message (seq),
  ordinal bigint NOT NULL,
  record bigint NOT NULL,
  PRIMARY KEY (message, ordinal)
);
CREATE INDEX message_of ON message_record (record);

CREATE TABLE idempotency (
  tenant text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  fingerprint bytea NOT NULL,
  job bigint NOT NULL,
  PRIMARY KEY (tenant, kind, key)
);

CREATE TABLE usage (
  tenant text COLLATE "C" NOT NULL,
  month text COLLATE "C" NOT NULL,
  invoices bigint NOT NULL,
  cancellations bigint NOT NULL,
  PRIMARY KEY (tenant, month)
) WITH (fillfactor = 50);

-- The same by issuer, with amounts in cents.
CREATE TABLE turnover (
  tenant text COLLATE "C" NOT NULL,
  month text COLLATE "C" NOT NULL,
  issuer text COLLATE "C" NOT NULL,
  invoices bigint NOT NULL,
  cancellations bigint NOT NULL,
  base bigint NOT NULL,
  tax bigint NOT NULL,
  total bigint NOT NULL,
  PRIMARY KEY (tenant, month, issuer)
) WITH (fillfactor = 50);

CREATE TABLE request_count (
  tenant text COLLATE "C" NOT NULL,
  month text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  PRIMARY KEY (tenant, month)
);

CREATE TABLE tenant (
  id text COLLATE "C" PRIMARY KEY,
  name text,
  issuer_name text,
  allowed_nif text,
  parent text COLLATE "C",
  plan text,
  own_system boolean NOT NULL,
  representative_name text,
  representative_nif text,
  verifactu_end text,
  status text NOT NULL,
  created_at bigint NOT NULL
);
CREATE INDEX tenant_parent ON tenant (parent, id) WHERE parent IS NOT NULL;

CREATE TABLE api_key (
  id uuid PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  name text NOT NULL,
  public text COLLATE "C" NOT NULL UNIQUE,
  hash bytea NOT NULL,
  scopes text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  sealed bytea
);
CREATE INDEX api_key_of ON api_key (tenant, id);

CREATE TABLE certificate (
  tenant text COLLATE "C" PRIMARY KEY,
  sealed bytea NOT NULL,
  not_after bigint NOT NULL,
  uploaded_at bigint NOT NULL
);
CREATE INDEX certificate_end ON certificate (not_after, tenant);

CREATE TABLE webhook (
  tenant text COLLATE "C" PRIMARY KEY,
  url text NOT NULL,
  secret bytea NOT NULL,
  enabled boolean NOT NULL,
  updated_at bigint NOT NULL
);

-- What is owed to webhooks: noted with the step that makes a job final, marked before the attempt.
CREATE TABLE delivery (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  tenant text COLLATE "C" NOT NULL,
  job uuid,
  created_at bigint NOT NULL,
  attempted_at bigint,
  duration_ms bigint,
  status bigint,
  error text
);
CREATE INDEX delivery_owed ON delivery (seq) WHERE attempted_at IS NULL;
CREATE INDEX delivery_of ON delivery (tenant, seq);
CREATE INDEX delivery_age ON delivery (created_at);

CREATE TABLE batch (
  id uuid PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  items text NOT NULL
);
CREATE INDEX batch_age ON batch (created_at);

CREATE TABLE audit (
  seq bigint PRIMARY KEY,
  at bigint NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  request uuid,
  hash bytea NOT NULL
);
CREATE TRIGGER audit_unchanged BEFORE UPDATE OR DELETE ON audit
  FOR EACH ROW EXECUTE FUNCTION refuse('the audit log never changes');
CREATE TRIGGER audit_kept BEFORE TRUNCATE ON audit
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('the audit log is kept');
