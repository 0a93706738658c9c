//! The chains of an account, and the proof that one is whole.

use std::sync::Arc;

use verifactu_core::{
    api::{Chain, Chains},
    engine::verify_chain,
    ledger::ChainState,
    types::ChainId,
};

use super::{
    Service,
    auth::Account,
    call::Call,
    error::{Fault, Success},
    reply::Reply,
    view,
};

pub(super) async fn list(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let chains = service.engine.ledger().chains(&account.tenant.id).await?;
    let chains = Chains { chains: chains.into_iter().map(shown).collect() };
    Reply::json(Success::Ok, call.request, chains)
}

/// Recomputes every huella from the XML that is stored, for as long as somebody waits for it.
pub(super) async fn verify(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    const ABSENT: Fault = Fault::NotFound("chain");
    let id = ChainId::parse(call.variable()).map_err(|_| ABSENT)?;
    let chains = service.engine.ledger().chains(&account.tenant.id).await?;
    let state = chains.into_iter().find(|chain| chain.id == id).ok_or(ABSENT)?;
    let _reading = service.readings.begin(&account.tenant.id)?;
    let verified = tokio::select! {
        verified = verify_chain(&**service.engine.ledger(), &state) => verified?,
        _ = call.left => return Err(Fault::NotHttp),
    };
    Reply::json(Success::Ok, call.request, verified)
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
        closed: state.closed,
        updated_at: state.updated_at.into(),
    }
}
