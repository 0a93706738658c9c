//! The producer's declaration as REST shows it.

use serde::{Deserialize, Serialize};

/// The declaration of conformity of the computer system (Orden HAC/1177/2024, art. 15).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Declaration {
    /// Its title, as the law words it.
    pub titulo: String,
    /// Its items, in the order of the law.
    pub apartados: Vec<DeclarationItem>,
}

/// An item of the declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeclarationItem {
    /// Its letter.
    pub letra: char,
    /// What is declared.
    pub enunciado: String,
    /// The declaration.
    pub contenido: String,
}
