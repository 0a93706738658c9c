//! The QR of an invoice.
