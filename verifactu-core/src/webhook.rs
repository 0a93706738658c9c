//! Webhooks: the events of a tenant's jobs, signed.
