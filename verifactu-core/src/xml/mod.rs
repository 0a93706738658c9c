//! The authority's wire: the only module that spells its element names.

pub mod answer;
pub mod envelope;
pub mod fault;
pub mod literals;
pub mod names;
pub mod nif_check;
pub mod query;
pub mod reader;
pub mod record;
mod writer;
