//! Chains as REST shows them.

use serde::{Deserialize, Serialize};

use crate::types::{ChainId, Huella, InvoiceNumber, Nif};

use super::Timestamp;

/// The chains of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Chains {
    /// The chains.
    pub chains: Vec<Chain>,
}

/// A chain: the records of one issuer from one installation of the computer system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Chain {
    /// Its identifier.
    pub id: ChainId,
    /// The issuer.
    pub nif: Nif,
    /// The installation.
    pub numero_instalacion: String,
    /// How many records it has.
    pub length: u64,
    /// The huella of the last one.
    pub last_huella: Option<Huella>,
    /// The invoice of the last one.
    pub last_num_serie: Option<InvoiceNumber>,
    /// Records that the authority has not decided on.
    pub pending: u64,
    /// Why nothing of it is sent: `certificate` until there is one that works, `operator` until an
    /// operator lets it go on, `suspended` too, because the authority has suspended the presenter. Null
    /// when it is not held.
    pub held_reason: Option<String>,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Whether a chain holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChainVerification {
    /// It does.
    pub valid: bool,
    /// Records that were recomputed and hold.
    pub checked: u64,
    /// The first place where it does not.
    pub first_break: Option<FirstBreak>,
}

/// Where a chain does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstBreak {
    /// The record's place in the chain, from 1.
    pub posicion: u64,
    /// What is wrong with it.
    pub reason: String,
}
