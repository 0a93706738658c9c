//! What the demonstration shows: text for people, or JSON lines for programs.

use std::{
    io::{self, Write},
    net::SocketAddr,
};

use serde::Serialize;
use verifactu_core::{
    api::{Job, JobStatus},
    qr::Symbol,
    types::Huella,
};

use super::invoices::InvoiceFile;

/// What came of one file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    file: String,
    title: String,
    num_serie: String,
    state: String,
    csv: Option<String>,
    huella: Option<Huella>,
    qr_text: Option<String>,
    last_error: Option<String>,
    /// Whether it is what the file says.
    pub(super) ok: bool,
}

impl Outcome {
    pub(super) fn of_job(file: &InvoiceFile, job: &Job, expected: JobStatus) -> Self {
        let qr = job.result.as_ref().map(|result| &result.qr_info);
        Self {
            state: job.status.as_str().to_owned(),
            csv: qr.and_then(|qr| qr.csv.clone()),
            huella: qr.map(|qr| qr.huella),
            qr_text: qr.and_then(|qr| qr.qr_text.clone()),
            last_error: job.last_error.clone(),
            ok: job.status == expected,
            ..Self::of(file)
        }
    }

    pub(super) fn computed(file: &InvoiceFile, huella: &Huella, expected: &Huella) -> Self {
        Self { state: "OFFLINE".to_owned(), huella: Some(*huella), ok: huella == expected, ..Self::of(file) }
    }

    fn of(file: &InvoiceFile) -> Self {
        Self {
            file: file.name.clone(),
            title: file.title.clone(),
            num_serie: file.number.clone(),
            state: String::new(),
            csv: None,
            huella: None,
            qr_text: None,
            last_error: None,
            ok: false,
        }
    }
}

pub(super) struct Report<W> {
    out: W,
    json: bool,
    /// The first QR text seen, to be drawn at the end.
    qr: Option<String>,
}

impl<W: Write> Report<W> {
    pub(super) fn new(out: W, json: bool) -> Self {
        Self { out, json, qr: None }
    }

    pub(super) fn begin(&mut self, sandbox: &str, service: &SocketAddr, wait: u16) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        writeln!(self.out, "Sandbox authority  {sandbox}")?;
        writeln!(self.out, "Service            http://{service}/v1")?;
        writeln!(
            self.out,
            "This sandbox asks for a wait of {wait} s between messages; the real authority asks for 60 s.\n"
        )
    }

    pub(super) fn outcome(&mut self, outcome: &Outcome) -> io::Result<()> {
        if self.json {
            serde_json::to_writer(&mut self.out, outcome)?;
            return writeln!(self.out);
        }
        if self.qr.is_none() {
            self.qr.clone_from(&outcome.qr_text);
        }
        let mark = if outcome.ok { "as expected" } else { "NOT AS EXPECTED" };
        writeln!(self.out, "{:<14} {:<9}  {}  ({mark})", outcome.num_serie, outcome.state, outcome.title)?;
        let lines = [
            ("csv", outcome.csv.as_deref()),
            ("huella", outcome.huella.as_ref().map(Huella::as_str)),
            ("qr", outcome.qr_text.as_deref()),
            ("error", outcome.last_error.as_deref().filter(|_| !outcome.ok)),
        ];
        for (name, value) in lines {
            if let Some(value) = value {
                writeln!(self.out, "    {name:<7} {value}")?;
            }
        }
        Ok(())
    }

    pub(super) fn summary(
        &mut self,
        sent: u32,
        succeeded: u32,
        failed: u32,
        chain_valid: bool,
    ) -> io::Result<()> {
        if self.json {
            let summary = serde_json::json!({
                "summary": {"sent": sent, "succeeded": succeeded, "failed": failed, "chainValid": chain_valid}
            });
            writeln!(self.out, "{summary}")?;
            return self.out.flush();
        }
        let symbol = self.qr.as_deref().and_then(|text| Symbol::new(text).ok());
        if let Some(symbol) = symbol {
            writeln!(self.out, "\nThe QR of the first invoice:\n\n{}", symbol.terminal())?;
        }
        let chain = if chain_valid { "the chain is whole" } else { "THE CHAIN IS BROKEN" };
        writeln!(self.out, "{sent} sent, {succeeded} succeeded, {failed} not as expected; {chain}.")?;
        self.out.flush()
    }

    pub(super) fn go_on(&mut self, service: SocketAddr, key: &str) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        writeln!(
            self.out,
            r#"
The service goes on until Ctrl-C. To go on with it:

  export VERIFACTU_URL=http://{service}/v1 VERIFACTU_KEY={key}
  curl -s $VERIFACTU_URL/send-invoice -H "x-api-key: $VERIFACTU_KEY" -H "x-idempotency-key: my-first-invoice" \
    -H "content-type: application/json" -d '{{"nif":"B12345674","numSerie":"CURL-1","fecha":"'$(date +%d-%m-%Y)'",
    "tipoFactura":"F2","descripcion":"Café","desglose":[{{"clave":"01","calif":"S1","base":10,"tipo":10,"cuota":1}}]}}'
  JOB_ID=…   # "jobId" of that answer
  curl -s $VERIFACTU_URL/jobs/$JOB_ID -H "x-api-key: $VERIFACTU_KEY"
  curl -s "$VERIFACTU_URL/jobs/$JOB_ID/qr?format=svg" -H "x-api-key: $VERIFACTU_KEY" -o qr.svg
"#
        )?;
        self.out.flush()
    }
}
