//! Spanish tax identification numbers.
//!
//! A [`Nif`] is nine characters whose last one is a check character. Three families exist: the DNI
//! of nationals (eight digits and a letter), the NIE of foreigners (X, Y or Z, seven digits and a
//! letter) and the number of entities (a letter for the kind of entity, seven digits and a digit or
//! a letter, Orden EHA/451/2008). K, L and M are natural persons without DNI or NIE; their check
//! character is not published, so only their shape is held.

const LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";
const ENTITY_LETTERS: &[u8; 10] = b"JABCDEFGHI";

/// A tax identification number with a correct check character. Nine upper-case ASCII characters.
#[doc(alias = "NIF")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nif([u8; 9]);

/// What a [`Nif`] identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NifKind {
    /// A natural person (DNI, NIE, or K, L, M).
    Person,
    /// A legal person or an entity without legal personality.
    Entity,
}

/// Why a text is not a [`Nif`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NifError {
    /// Not exactly nine characters.
    #[error("a NIF has exactly 9 characters, without spaces, hyphens or country prefix")]
    Length,
    /// No family of numbers has this shape.
    #[error("not the shape of a DNI (12345678Z), NIE (X1234567L) or entity number (B12345674)")]
    Shape,
    /// The check character does not belong to the number.
    #[error("wrong check character: expected {expected}")]
    CheckCharacter {
        /// The character that belongs there.
        expected: char,
    },
}

impl Nif {
    /// Reads a NIF as the authority does: nine upper-case characters, nothing around them.
    ///
    /// # Errors
    /// [`NifError`] says whether length, shape or check character is wrong.
    ///
    /// ```
    /// use verifactu_core::types::Nif;
    /// assert_eq!(Nif::parse("89890001K")?.as_str(), "89890001K");
    /// assert!(Nif::parse("89890001A").is_err());
    /// # Ok::<(), verifactu_core::types::NifError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, NifError> {
        let bytes: [u8; 9] = text.as_bytes().try_into().map_err(|_| NifError::Length)?;
        let check = bytes[8];
        match bytes[0] {
            b'0'..=b'9' => modulo_23(&bytes, 0, check)?,
            first @ b'X'..=b'Z' => modulo_23(&bytes, u32::from(first - b'X') + 1, check)?,
            b'K' | b'L' | b'M' => {
                let body = bytes[1..8].iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
                if !body || !check.is_ascii_uppercase() {
                    return Err(NifError::Shape);
                }
            }
            b'A'..=b'H' | b'J' | b'N' | b'P'..=b'S' | b'U'..=b'W' => entity(&bytes)?,
            _ => return Err(NifError::Shape),
        }
        Ok(Self(bytes))
    }

    /// The nine characters, in ASCII.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 9] {
        &self.0
    }

    /// The nine characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // The constructor admits ASCII only, so the fallback is never taken.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Whether it belongs to a natural person or to an entity.
    #[must_use]
    pub fn kind(&self) -> NifKind {
        match self.0[0] {
            b'0'..=b'9' | b'X'..=b'Z' | b'K'..=b'M' => NifKind::Person,
            _ => NifKind::Entity,
        }
    }
}

/// DNI and NIE: the remainder of the number by 23 picks the letter. `prefix` is 0 for a DNI, and one
/// more than the digit that stands for X, Y or Z in a NIE.
fn modulo_23(bytes: &[u8; 9], prefix: u32, check: u8) -> Result<(), NifError> {
    let digits = if prefix == 0 { &bytes[..8] } else { &bytes[1..8] };
    let mut number = prefix.saturating_sub(1);
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Err(NifError::Shape);
        }
        number = number * 10 + u32::from(digit - b'0');
    }
    if !check.is_ascii_alphanumeric() || check.is_ascii_lowercase() {
        return Err(NifError::Shape);
    }
    let expected = LETTERS[(number % 23) as usize];
    if expected == check { Ok(()) } else { Err(NifError::CheckCharacter { expected: expected.into() }) }
}

/// Entities: digits in odd places count double with their digits added up; some kinds of entity
/// want the check value as a letter, some as a digit, some take either.
fn entity(bytes: &[u8; 9]) -> Result<(), NifError> {
    let mut sum = 0;
    for (place, digit) in bytes[1..8].iter().enumerate() {
        if !digit.is_ascii_digit() {
            return Err(NifError::Shape);
        }
        let value = u32::from(digit - b'0');
        sum += if place % 2 == 0 { value * 2 / 10 + value * 2 % 10 } else { value };
    }
    let check = bytes[8];
    if !check.is_ascii_digit() && !check.is_ascii_uppercase() {
        return Err(NifError::Shape);
    }
    let value = (10 - sum % 10) % 10;
    let digit = b'0' + value as u8;
    let letter = ENTITY_LETTERS[value as usize];
    let (accepted, expected) = match bytes[0] {
        b'N' | b'P'..=b'S' | b'W' => (check == letter, letter),
        b'A' | b'B' | b'E' | b'H' => (check == digit, digit),
        _ => (check == digit || check == letter, digit),
    };
    if accepted { Ok(()) } else { Err(NifError::CheckCharacter { expected: expected.into() }) }
}

super::text_forms!(Nif, NifError);
