//! The authority's own files, where a copy of them is at hand.

use std::path::PathBuf;

/// A file of the collection that `VERIFACTU_AEAT_FILES` names, or of the one beside the workspace.
/// Says so when there is none.
pub fn file(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("VERIFACTU_AEAT_FILES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/aeat")),
        PathBuf::from,
    );
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: no copy of {name} at hand");
    None
}
