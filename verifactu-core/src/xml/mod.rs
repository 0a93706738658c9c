//! The authority's wire: the only module that spells its element names.

pub mod names;
