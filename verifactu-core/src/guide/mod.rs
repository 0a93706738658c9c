//! Two pages to read: the domain for somebody new to it, and what the law and the authority's documents
//! ask for beside the code that answers.

#[doc = include_str!("domain.md")]
pub mod domain {}

#[doc = include_str!("requirements.md")]
pub mod requirements {}
