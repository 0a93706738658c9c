//! Bodies that the document shows. Each is true: a test sends it as it stands, the certificate apart, whose
//! file would be a real one.

pub(super) const INVOICE: &str = r#"{
  "nif": "B12345674", "nombre": "Emisor SL", "numSerie": "2026/F-001", "fecha": "15-01-2026",
  "refExterna": "ERP-9", "tipoFactura": "F1", "descripcion": "Servicios",
  "destinatarios": [{ "nombre": "Cliente SA", "nif": "A39200019" }],
  "desglose": [{ "impuesto": "01", "clave": "01", "calif": "S1", "base": 100, "tipo": 21, "cuota": 21 }],
  "cuotaTotal": 21, "total": 121
}"#;

pub(super) const CANCELLATION: &str = r#"{
  "nif": "B12345674", "nombre": "Emisor SL", "numSerie": "2026/F-001", "fecha": "15-01-2026"
}"#;

pub(super) const BATCH: &str = r#"{
  "items": [{
    "op": "send", "idempotencyKey": "6c2f3a1e-8f0e-4b53-9d0f-0f3f4a1b2c3d",
    "body": {
      "nif": "B12345674", "nombre": "Emisor SL", "numSerie": "2026/F-002", "fecha": "15-01-2026",
      "tipoFactura": "F2", "descripcion": "Servicios",
      "desglose": [{ "clave": "01", "calif": "S1", "base": "100.00", "tipo": 21, "cuota": "21.00" }]
    }
  }]
}"#;

pub(super) const CERTIFICATE: &str = r#"{ "pfxBase64": "MIIKPAIBAzCC…", "pfxPassphrase": "…" }"#;

pub(super) const TENANT: &str =
    r#"{ "id": "talleres-ebro", "name": "Talleres Ebro", "issuerName": "Talleres Ebro SL" }"#;

pub(super) const TENANT_PATCH: &str =
    r#"{ "planId": "pro", "representante": { "nombre": "Asesores SL", "nif": "A39200019" } }"#;

pub(super) const KEY: &str = r#"{
  "tenantId": "talleres-ebro", "name": "ERP",
  "scopes": ["invoices:write", "invoices:read", "nif:read", "tenant:certificates:read", "tenant:certificates:write"]
}"#;

pub(super) const WEBHOOK: &str =
    r#"{ "url": "https://erp.example.com/verifactu", "secret": "whsec_c2VjcmV0IG9mIGEgcmVjZWl2ZXI=" }"#;

pub(super) const CHILD: &str =
    r#"{ "id": "panaderia-sol", "name": "Panadería Sol", "allowedNif": "12345678Z" }"#;

pub(super) const CHILD_PATCH: &str = r#"{ "name": "Panadería del Sol", "status": "ACTIVE" }"#;

pub(super) const CHILD_KEY: &str = r#"{ "name": "TPV", "scopes": ["invoices:write", "invoices:read"] }"#;

pub(super) const TAXPAYER: &str = r#"{ "nif": "B12345674", "nombre": "Emisor SL" }"#;

pub(super) const PAUSE: &str = r#"{ "reason": "The customer asked for it." }"#;
