//! Long questions: a query page by page, and more taxpayers than one question holds.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{StreamExt as _, TryStreamExt as _};
use verifactu_core::{
    authority::{
        Answered, Authority, Exchange, NotReached, Outcome, QueryError, Request, Service, nif_checks,
        query_pages,
    },
    certificate::Identity,
    types::{Nif, SecretBytes, Text},
    xml::{
        answer::InvoiceKey,
        envelope::SpanishParty,
        nif_check::{CensusStatus, MAX_TAXPAYERS, Taxpayer},
        query::{AskedBy, Period, Query, QueryAnswer},
    },
};
use verifactu_server::sandbox::{Holder, Pki};

/// Answers with what it was given, in order, and keeps the questions.
struct Scripted {
    answers: Mutex<VecDeque<Exchange>>,
    asked: Mutex<Vec<(Service, String)>>,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Exchange>) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() }
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

#[async_trait]
impl Authority for Scripted {
    async fn exchange(&self, request: Request) -> Exchange {
        let body = String::from_utf8(request.body.to_vec()).unwrap();
        self.asked.lock().unwrap().push((request.service, body));
        self.answers.lock().unwrap().pop_front().expect("no more questions")
    }
}

fn identity() -> Arc<Identity> {
    let issued =
        Pki::ephemeral().unwrap().issue(&Holder::seal("A58818501", "EMPRESA SA").with_ec_key()).unwrap();
    let chain = issued.chain_der().iter().map(|der| der.to_vec()).collect();
    let key = SecretBytes::new(issued.key_der().secret_der().to_vec());
    Arc::new(Identity::new(key, chain).unwrap())
}

const BASE: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/";

/// A page with one row, behind which another page begins if a key is given.
fn page(number: &str, next: Option<&str>) -> Exchange {
    let key = |number: &str| {
        format!(
            "<s:IDEmisorFactura>B12345674</s:IDEmisorFactura><s:NumSerieFactura>{number}</s:NumSerieFactura><s:FechaExpedicionFactura>20-11-2026</s:FechaExpedicionFactura>"
        )
    };
    let more = if next.is_some() { "S" } else { "N" };
    let next =
        next.map_or(String::new(), |next| format!("<r:ClavePaginacion>{}</r:ClavePaginacion>", key(next)));
    Exchange::Answered(Answered::xml(
        200,
        format!(
            "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:r=\"{BASE}RespuestaConsultaLR.xsd\" xmlns:s=\"{BASE}SuministroInformacion.xsd\"><e:Body><r:RespuestaConsultaFactuSistemaFacturacion>\
         <r:IndicadorPaginacion>{more}</r:IndicadorPaginacion><r:ResultadoConsulta>ConDatos</r:ResultadoConsulta>\
         <r:RegistroRespuestaConsultaFactuSistemaFacturacion><r:IDFactura>{}</r:IDFactura><r:EstadoRegistro><r:EstadoRegistro>Correcto</r:EstadoRegistro></r:EstadoRegistro></r:RegistroRespuestaConsultaFactuSistemaFacturacion>\
         {next}</r:RespuestaConsultaFactuSistemaFacturacion></e:Body></e:Envelope>",
            key(number)
        ),
    ))
}

fn unreached() -> Exchange {
    Exchange::NotReached { reason: NotReached::Connect, elapsed: Duration::ZERO }
}

fn month() -> Query {
    let issuer =
        SpanishParty { name: Text::parse("EMPRESA SL").unwrap(), nif: Nif::parse("B12345674").unwrap() };
    Query::new(AskedBy::Issuer(issuer), Period::new(2026, 11).unwrap())
}

fn key(number: &str) -> InvoiceKey {
    let text = |text: &str| text.to_owned();
    InvoiceKey { issuer: text("B12345674"), number: text(number), date: text("20-11-2026") }
}

fn numbers(pages: &[QueryAnswer]) -> Vec<&str> {
    pages.iter().flat_map(|page| &page.rows).map(|row| row.invoice.number.as_str()).collect()
}

#[tokio::test]
async fn pages_are_asked_for_one_after_the_other() {
    let script = || [page("A-1", Some("A-1")), page("A-2", Some("A-2")), page("A-3", None)];
    let authority = Scripted::new(script());
    let all: Vec<_> = query_pages(&authority, identity(), month(), 3).try_collect().await.unwrap();
    assert_eq!(numbers(&all), ["A-1", "A-2", "A-3"]);
    let asked = authority.asked.lock().unwrap().clone();
    let keys: Vec<_> = asked
        .iter()
        .map(|(service, body)| {
            assert_eq!(*service, Service::Query);
            body.contains("<ClavePaginacion>").then(|| body.contains(">A-1</NumSerieFactura>"))
        })
        .collect();
    assert_eq!(keys, [None, Some(true), Some(false)]);

    // Nothing is asked before it is wanted.
    let authority = Scripted::new(script());
    let mut pages = Box::pin(query_pages(&authority, identity(), month(), 3));
    assert_eq!(authority.asked(), 0);
    assert_eq!(pages.next().await.unwrap().unwrap().rows.len(), 1);
    assert_eq!(authority.asked(), 1);
}

#[tokio::test]
async fn pages_end_with_what_went_wrong() {
    let cases = [
        (
            "as many as are wanted",
            2,
            vec![page("A-1", Some("A-1")), page("A-2", Some("A-2"))],
            QueryError::MorePages(key("A-2")),
        ),
        ("none is wanted", 1, vec![page("A-1", Some("A-9"))], QueryError::MorePages(key("A-9"))),
        (
            "no connection",
            5,
            vec![page("A-1", Some("A-1")), unreached()],
            Outcome::NotReached(NotReached::Connect).into(),
        ),
        (
            "the same key again",
            5,
            vec![page("A-1", Some("A-1")), page("A-1", Some("A-1"))],
            QueryError::Repeated,
        ),
    ];
    for (what, most, script, wanted) in cases {
        let authority = Scripted::new(script);
        let mut pages = Box::pin(query_pages(&authority, identity(), month(), most));
        assert!(pages.next().await.unwrap().is_ok(), "{what}");
        let error = loop {
            match pages.next().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => break error,
                None => panic!("{what}: it ended as if it were whole"),
            }
        };
        assert_eq!(error, wanted, "{what}");
        assert!(pages.next().await.is_none(), "{what}");
        assert_eq!(authority.answers.lock().unwrap().len(), 0, "{what}");
    }
}

/// Answers every question with all its taxpayers identified.
struct Census(Scripted);

#[async_trait]
impl Authority for Census {
    async fn exchange(&self, request: Request) -> Exchange {
        let body = String::from_utf8(request.body.to_vec()).unwrap();
        let inside = body.split_once("<VNifV2Ent").unwrap().1;
        let inside = inside.split_once('>').unwrap().1.split_once("</VNifV2Ent>").unwrap().0;
        let inside = inside.replace("</Nombre>", "</Nombre><Resultado>IDENTIFICADO</Resultado>");
        self.0.asked.lock().unwrap().push((request.service, body.clone()));
        if self.0.asked() > 2 {
            return unreached();
        }
        let space = "http://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/burt/jdit/ws/VNifV2Sal.xsd";
        Exchange::Answered(Answered::xml(
            200,
            format!(
                "<Envelope xmlns=\"http://schemas.xmlsoap.org/soap/envelope/\"><Body><VNifV2Sal xmlns=\"{space}\">{inside}</VNifV2Sal></Body></Envelope>"
            ),
        ))
    }
}

#[tokio::test]
async fn taxpayers_are_asked_about_in_questions_that_the_service_takes() {
    let taxpayers: Vec<Taxpayer> = (0..2 * MAX_TAXPAYERS + 1)
        .map(|n| Taxpayer {
            nif: Nif::parse(if n % 2 == 0 { "A58818501" } else { "89890001K" }).unwrap(),
            name: Some(Text::parse(&format!("N {n}")).unwrap()),
        })
        .collect();
    let authority = Census(Scripted::new([]));
    let identity = identity();
    let found: Vec<_> = nif_checks(&authority, identity.clone(), &taxpayers[..MAX_TAXPAYERS + 1])
        .try_collect()
        .await
        .unwrap();
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [MAX_TAXPAYERS, 1]);
    for (asked, found) in taxpayers.iter().zip(found.iter().flatten()) {
        assert_eq!((asked.nif, &CensusStatus::Identified), (found.nif, &found.status));
        assert_eq!(asked.name.as_ref().unwrap().as_str(), found.name, "in the order of the question");
    }
    assert_eq!(authority.0.asked(), 2);

    let mut checks = Box::pin(nif_checks(&authority, identity, &taxpayers));
    assert_eq!(checks.next().await.unwrap(), Err(Outcome::NotReached(NotReached::Connect)));
    assert!(checks.next().await.is_none());
}
