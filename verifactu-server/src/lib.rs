//! Reference VERI*FACTU service, and a tax authority to develop and test against.

pub mod sandbox;
