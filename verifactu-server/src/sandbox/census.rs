//! Who exists: the authority's census, as far as the sandbox needs one.
//!
//! Every well-formed NIF exists, under any name, but for those listed; or, the other way about, only
//! those listed exist. A natural person that is listed with a name must be called by it; an entity
//! is known by its NIF alone.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::SandboxError;
use super::nif;

/// Most bytes of a census file.
const FILE_LIMIT: u64 = 16 * 1024 * 1024;

/// The census. Its JSON: `{"unlisted": "exist", "listed": {"11111111H": {"status": "missing"}}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Census {
    /// What holds for NIFs that are not listed.
    pub unlisted: Unlisted,
    /// What is known of some NIFs.
    pub listed: BTreeMap<String, CensusEntry>,
}

/// What holds for well-formed NIFs that the census does not list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unlisted {
    /// They exist.
    #[default]
    Exist,
    /// They do not.
    Missing,
}

/// What the census knows of one NIF.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CensusEntry {
    /// Whether it exists, and in what state.
    pub status: CensusStatus,
    /// Whose it is; a person's surnames first. Without it, every name is right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The state of a NIF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CensusStatus {
    /// In the census.
    #[default]
    Active,
    /// In the census, and no longer active.
    Deregistered,
    /// In the census, and revoked.
    Revoked,
    /// Well-formed, and in no census.
    Missing,
}

/// The default: all exist but `11111111H`, `X1111111G` and `A13585625`; `22222222J` is no longer
/// active, `B64717838` is revoked, and `87654321X` is called `GARCIA PEREZ ANA`.
impl Default for Census {
    fn default() -> Self {
        let entry = |nif: &str, status, name: Option<&str>| {
            (nif.to_owned(), CensusEntry { status, name: name.map(str::to_owned) })
        };
        Self {
            unlisted: Unlisted::Exist,
            listed: BTreeMap::from([
                entry("11111111H", CensusStatus::Missing, None),
                entry("X1111111G", CensusStatus::Missing, None),
                entry("A13585625", CensusStatus::Missing, None),
                entry("22222222J", CensusStatus::Deregistered, None),
                entry("B64717838", CensusStatus::Revoked, None),
                entry("87654321X", CensusStatus::Active, Some("GARCIA PEREZ ANA")),
            ]),
        }
    }
}

/// What the census says to a NIF and a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identified<'a> {
    /// They are one's own. The name is that of the census, if it knows one.
    Yes(CensusStatus, Option<&'a str>),
    /// The NIF is a natural person's with a name that is nearly this one.
    Similar,
    /// No.
    No,
}

impl Census {
    /// Reads a file with the JSON of a census.
    ///
    /// # Errors
    ///
    /// [`SandboxError::File`] if it cannot be read or is larger than 16 MiB, [`SandboxError::Census`]
    /// if it is something else.
    pub fn load(path: &Path) -> Result<Self, SandboxError> {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(FILE_LIMIT + 1).read_to_end(&mut bytes));
        let read = read.map_err(SandboxError::file(path))?;
        if u64::try_from(read).is_ok_and(|read| read > FILE_LIMIT) {
            return Err(SandboxError::file(path)(std::io::ErrorKind::FileTooLarge.into()));
        }
        serde_json::from_slice(&bytes)
            .map_err(|source| SandboxError::Census { path: path.to_owned(), source })
    }

    /// Looks up a NIF with a name.
    pub(crate) fn look_up(&self, nif: &str, name: &str) -> Identified<'_> {
        if !nif::is_valid(nif) {
            return Identified::No;
        }
        let Some(entry) = self.listed.get(nif) else {
            return match self.unlisted {
                Unlisted::Exist => Identified::Yes(CensusStatus::Active, None),
                Unlisted::Missing => Identified::No,
            };
        };
        let known = entry.name.as_deref();
        match (entry.status, known) {
            (CensusStatus::Missing, _) => Identified::No,
            (status, Some(known)) if nif::is_person(nif) => match likeness(known, name) {
                Likeness::Same => Identified::Yes(status, Some(known)),
                Likeness::Near => Identified::Similar,
                Likeness::Other => Identified::No,
            },
            (status, known) => Identified::Yes(status, known),
        }
    }

    /// Whether NIF and name are those of one in the census, active or not.
    pub(crate) fn identifies(&self, nif: &str, name: &str) -> bool {
        matches!(self.look_up(nif, name), Identified::Yes(..))
    }

    /// Whether the NIF is in the census, under whatever name.
    pub(crate) fn holds(&self, nif: &str) -> bool {
        let status = self.listed.get(nif).map(|entry| entry.status);
        let exists = match (status, self.unlisted) {
            (Some(status), _) => status != CensusStatus::Missing,
            (None, unlisted) => unlisted == Unlisted::Exist,
        };
        exists && nif::is_valid(nif)
    }
}

enum Likeness {
    Same,
    Near,
    Other,
}

/// Names are the same whatever their case, accents and punctuation. They are near if half of the
/// words or more are shared.
fn likeness(known: &str, name: &str) -> Likeness {
    let (known, name) = (words(known), words(name));
    if known == name {
        return Likeness::Same;
    }
    let shared = name.iter().filter(|word| known.contains(word)).count();
    let most = known.len().max(name.len());
    if shared > 0 && shared * 2 >= most { Likeness::Near } else { Likeness::Other }
}

fn words(name: &str) -> Vec<String> {
    let plain: String = name.to_uppercase().chars().map(without_accent).collect();
    plain
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn without_accent(character: char) -> char {
    match character {
        'Á' | 'À' | 'Ä' => 'A',
        'É' | 'È' | 'Ë' => 'E',
        'Í' | 'Ì' | 'Ï' => 'I',
        'Ó' | 'Ò' | 'Ö' => 'O',
        'Ú' | 'Ù' | 'Ü' => 'U',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{Census, CensusStatus, Identified};

    #[test]
    fn names_of_persons_count_and_those_of_entities_do_not() {
        let json = r#"{"unlisted": "missing", "listed": {
            "87654321X": {"name": "GARCIA PEREZ ANA"}, "A58818501": {"name": "LA EMPRESA SA"}}}"#;
        let census: Census = serde_json::from_str(json).unwrap_or_default();
        let ana = Identified::Yes(CensusStatus::Active, Some("GARCIA PEREZ ANA"));
        assert_eq!(census.look_up("87654321X", "García-Pérez, Ana"), ana);
        assert_eq!(census.look_up("87654321X", "GARCIA ANA"), Identified::Similar);
        assert_eq!(census.look_up("87654321X", "LOPEZ LUIS ANA"), Identified::No);
        assert_eq!(census.look_up("87654321X", ""), Identified::No);
        assert!(census.identifies("A58818501", "OTRA"));
        assert!(census.holds("87654321X"));
        for unknown in ["12345678Z", "A58818502", "87654321"] {
            assert!(!census.holds(unknown) && !census.identifies(unknown, "X"), "{unknown}");
        }
    }
}
