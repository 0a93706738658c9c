-- One row: the stamp of the ledger, and a counter that proves it can be written.
CREATE TABLE ledger (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  environment TEXT NOT NULL,
  probes INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE chain (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  issuer TEXT NOT NULL,
  producer TEXT NOT NULL,
  system TEXT NOT NULL,
  installation TEXT NOT NULL,
  minted INTEGER NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0,
  length INTEGER NOT NULL DEFAULT 0,
  last_huella TEXT,
  last_number TEXT,
  pending INTEGER NOT NULL DEFAULT 0 CHECK (pending >= 0),
  next_slot_at INTEGER,
  wait_seconds INTEGER,
  last_slot TEXT,
  unreachable_count INTEGER NOT NULL DEFAULT 0,
  suspects TEXT,
  hold TEXT,
  hold_reason TEXT,
  closed INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  UNIQUE (tenant, issuer, producer, system, installation)
) STRICT;
CREATE UNIQUE INDEX chain_minted ON chain (tenant, issuer, producer, system) WHERE minted = 1;
CREATE INDEX chain_held ON chain (hold_reason) WHERE hold_reason IS NOT NULL;
CREATE INDEX chain_busy ON chain (id) WHERE pending > 0 AND hold IS NULL;

-- The fiscal record. It never changes; the two indexes on the chain make a fork impossible.
CREATE TABLE record (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  chain INTEGER NOT NULL REFERENCES chain (seq),
  position INTEGER NOT NULL CHECK (position > 0),
  tenant TEXT NOT NULL,
  kind TEXT NOT NULL,
  issuer TEXT NOT NULL,
  number TEXT NOT NULL,
  date TEXT NOT NULL,
  issuer_name TEXT NOT NULL,
  total INTEGER,
  external_reference TEXT,
  huella TEXT NOT NULL,
  previous TEXT CHECK ((previous IS NULL) = (position = 1)),
  generated_at TEXT NOT NULL,
  xml BLOB NOT NULL,
  UNIQUE (chain, position)
) STRICT;
CREATE UNIQUE INDEX record_link ON record (chain, previous);
CREATE INDEX record_invoice ON record (tenant, issuer, number, date);
CREATE INDEX record_number ON record (tenant, number);
CREATE TRIGGER record_unchanged BEFORE UPDATE ON record
  BEGIN SELECT RAISE (ABORT, 'a record never changes'); END;
CREATE TRIGGER record_kept BEFORE DELETE ON record
  BEGIN SELECT RAISE (ABORT, 'a record never leaves its chain'); END;

-- The bytes a record was first sent as, kept for every later sending.
CREATE TABLE sent (
  record INTEGER PRIMARY KEY REFERENCES record (seq),
  xml BLOB NOT NULL
) STRICT;

-- A job has the number of its record. Turn and due_at follow from state, standing, sent and
-- next_retry_at; both are null once the job is final. Tenant and issuer are the record's, for lists.
CREATE TABLE job (
  seq INTEGER PRIMARY KEY REFERENCES record (seq),
  id BLOB NOT NULL UNIQUE,
  chain INTEGER NOT NULL,
  position INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  issuer TEXT NOT NULL,
  kind TEXT NOT NULL,
  request BLOB NOT NULL,
  state TEXT NOT NULL,
  standing TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  sent INTEGER NOT NULL,
  alone INTEGER NOT NULL DEFAULT 0,
  next_retry_at INTEGER,
  failure TEXT,
  csv TEXT,
  answer TEXT,
  completed_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  turn TEXT,
  due_at INTEGER,
  answer_line BLOB
) STRICT;
CREATE INDEX job_never_sent ON job (chain, position, turn, due_at, state, created_at)
  WHERE turn IN ('first', 'barrier');
CREATE INDEX job_again ON job (chain, due_at, state, created_at) WHERE turn = 'again';
CREATE INDEX job_doubtful ON job (chain, due_at) WHERE standing = 'in_doubt' AND turn IS NOT NULL;
-- Lists of an account, newest first. What most jobs have in common is not indexed once more.
CREATE INDEX job_listed ON job (tenant, created_at);
CREATE INDEX job_by_issuer ON job (tenant, issuer, created_at);
CREATE INDEX job_by_state ON job (tenant, state, created_at) WHERE state <> 'succeeded';
CREATE INDEX job_by_standing ON job (tenant, standing, created_at) WHERE standing <> 'accepted';
CREATE INDEX job_request ON job (request);
CREATE INDEX job_age ON job (created_at);
CREATE INDEX job_unsettled ON job (created_at) WHERE state <> 'succeeded';
CREATE INDEX job_cancels ON job (tenant, created_at) WHERE kind = 'cancel';

CREATE TABLE attempt (
  seq INTEGER PRIMARY KEY,
  job INTEGER NOT NULL REFERENCES job (seq),
  started_at INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  code INTEGER,
  message BLOB
) STRICT;
CREATE INDEX attempt_job ON attempt (job);

CREATE TABLE message (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  chain INTEGER NOT NULL REFERENCES chain (seq),
  at INTEGER NOT NULL,
  digest BLOB NOT NULL,
  incident INTEGER NOT NULL,
  slot TEXT NOT NULL,
  settled_at INTEGER,
  answer BLOB
) STRICT;
CREATE INDEX message_open ON message (chain) WHERE settled_at IS NULL;

CREATE TABLE message_record (
  message INTEGER NOT NULL REFERENCES message (seq),
  ordinal INTEGER NOT NULL,
  record INTEGER NOT NULL REFERENCES record (seq),
  PRIMARY KEY (message, ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX message_of ON message_record (record);

CREATE TABLE idempotency (
  tenant TEXT NOT NULL,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  job INTEGER NOT NULL REFERENCES job (seq),
  PRIMARY KEY (tenant, kind, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage (
  tenant TEXT NOT NULL,
  month TEXT NOT NULL,
  invoices INTEGER NOT NULL,
  cancellations INTEGER NOT NULL,
  PRIMARY KEY (tenant, month)
) STRICT, WITHOUT ROWID;

-- The same by issuer, with amounts in cents.
CREATE TABLE turnover (
  tenant TEXT NOT NULL,
  month TEXT NOT NULL,
  issuer TEXT NOT NULL,
  invoices INTEGER NOT NULL,
  cancellations INTEGER NOT NULL,
  base INTEGER NOT NULL,
  tax INTEGER NOT NULL,
  total INTEGER NOT NULL,
  PRIMARY KEY (tenant, month, issuer)
) STRICT, WITHOUT ROWID;

CREATE TABLE request_count (
  tenant TEXT NOT NULL,
  month TEXT NOT NULL,
  requests INTEGER NOT NULL,
  PRIMARY KEY (tenant, month)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant (
  id TEXT PRIMARY KEY,
  name TEXT,
  issuer_name TEXT,
  allowed_nif TEXT,
  parent TEXT,
  plan TEXT,
  own_system INTEGER NOT NULL,
  representative_name TEXT,
  representative_nif TEXT,
  verifactu_end TEXT,
  status TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tenant_parent ON tenant (parent, id) WHERE parent IS NOT NULL;

CREATE TABLE api_key (
  id BLOB PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  public TEXT NOT NULL UNIQUE,
  hash BLOB NOT NULL,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  sealed BLOB
) STRICT;
CREATE INDEX api_key_of ON api_key (tenant, id);

CREATE TABLE certificate (
  tenant TEXT PRIMARY KEY,
  sealed BLOB NOT NULL,
  not_after INTEGER NOT NULL,
  uploaded_at INTEGER NOT NULL
) STRICT;
CREATE INDEX certificate_end ON certificate (not_after);

CREATE TABLE webhook (
  tenant TEXT PRIMARY KEY,
  url TEXT NOT NULL,
  secret BLOB NOT NULL,
  enabled INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

-- What is owed to webhooks: noted with the step that makes a job final, marked before the attempt.
CREATE TABLE delivery (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  job BLOB,
  created_at INTEGER NOT NULL,
  attempted_at INTEGER,
  duration_ms INTEGER,
  status INTEGER,
  error TEXT
) STRICT;
CREATE INDEX delivery_owed ON delivery (seq) WHERE attempted_at IS NULL;
CREATE INDEX delivery_of ON delivery (tenant, seq);
CREATE INDEX delivery_age ON delivery (created_at);

CREATE TABLE batch (
  id BLOB PRIMARY KEY,
  tenant TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  items TEXT NOT NULL
) STRICT;
CREATE INDEX batch_age ON batch (created_at);

CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  request BLOB,
  hash BLOB NOT NULL
) STRICT;
CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit
  BEGIN SELECT RAISE (ABORT, 'the audit log never changes'); END;
CREATE TRIGGER audit_kept BEFORE DELETE ON audit
  BEGIN SELECT RAISE (ABORT, 'the audit log is kept'); END;
