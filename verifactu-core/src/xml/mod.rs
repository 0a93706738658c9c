//! The authority's wire: the only module that spells its element names.

pub mod envelope;
pub mod names;
pub mod record;
mod writer;
