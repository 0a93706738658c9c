//! The chains of an account, and the proof that one is whole.

use std::sync::Arc;

use verifactu_core::{
    api::{Chain, ChainVerification, Chains, FirstBreak},
    chain::{Break, Walk},
    ledger::ChainState,
    types::ChainId,
    xml,
};

use super::{
    Service,
    auth::Account,
    call::Call,
    error::{Fault, Success},
    reply::Reply,
    view,
};

/// Records that are read at a time.
const PAGE: u32 = 500;

pub(super) async fn list(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let chains = service.engine.ledger().chains(&account.tenant.id).await?;
    let chains = Chains { chains: chains.into_iter().map(shown).collect() };
    Reply::json(Success::Ok, call.request, chains)
}

/// Recomputes every huella from the XML that is stored.
pub(super) async fn verify(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    const ABSENT: Fault = Fault::NotFound("chain");
    let id = ChainId::parse(call.variable()).map_err(|_| ABSENT)?;
    let chains = service.engine.ledger().chains(&account.tenant.id).await?;
    let state = chains.into_iter().find(|chain| chain.id == id).ok_or(ABSENT)?;
    let mut walk = Walk::default();
    let first_break = walked(&service, &state, &mut walk).await?;
    let verified = ChainVerification { valid: first_break.is_none(), checked: walk.checked(), first_break };
    Reply::json(Success::Ok, call.request, verified)
}

async fn walked(service: &Service, state: &ChainState, walk: &mut Walk) -> Result<Option<FirstBreak>, Fault> {
    let broken = |posicion, reason: &str| Ok(Some(FirstBreak { posicion, reason: reason.to_owned() }));
    let mut last = None;
    while walk.checked() < state.length {
        let position = walk.checked() + 1;
        let page = service.engine.ledger().records(state.id, position, PAGE).await?;
        if page.is_empty() {
            return broken(position, "the record is missing");
        }
        for row in page {
            let position = walk.checked() + 1;
            if row.position != position {
                return broken(position, "the record is missing");
            }
            let literals = match xml::literals::read(&row.xml) {
                Ok(literals) => literals,
                Err(error) => return broken(position, &error.to_string()),
            };
            if let Err(Break { position, reason }) = walk.next(literals.chained()) {
                return broken(position, &reason.to_string());
            }
            if literals.huella != row.huella.as_str() {
                return broken(position, "the ledger's huella is not the record's");
            }
            last = Some(row.huella);
        }
    }
    if last == state.last_huella {
        return Ok(None);
    }
    broken(state.length, "the chain's head is not its last record")
}

fn shown(state: ChainState) -> Chain {
    Chain {
        id: state.id,
        nif: state.key.issuer,
        numero_instalacion: state.key.installation.to_string(),
        length: state.length,
        last_huella: state.last_huella,
        last_num_serie: state.last_number,
        pending: state.pending,
        held_reason: state.hold.map(|hold| view::hold_reason(hold.reason).to_owned()),
        updated_at: state.updated_at.into(),
    }
}
