//! Reading of BER, and its rewriting as DER.
//!
//! PKCS#12 is a BER format (RFC 7292, 4). Firefox, NSS and macOS use that freedom: lengths left
//! open until an end marker, and octet strings cut into pieces. The decoder that opens the file
//! reads DER only, so such files are rewritten first. What is rewritten means the same: only
//! lengths and the pieces of octet strings change.

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const OID: u8 = 0x06;
pub(crate) const SEQUENCE: u8 = 0x30;
/// `[0]` around another value, or in place of the tag of a constructed one.
pub(crate) const CONTEXT_0: u8 = 0xa0;

const CONSTRUCTED: u8 = 0x20;
/// Deeper than any PKCS#12 file goes (about 12), and small for the stack.
const MAX_DEPTH: usize = 32;

/// Why bytes are not the BER value that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BerError {
    /// The value goes on behind the end of the bytes.
    #[error("the data ends in the middle of a value")]
    Truncated,
    /// Bytes follow where the value ends.
    #[error("data follows the value")]
    Trailing,
    /// A length or a tag in a form that PKCS#12 has no use for.
    #[error("not a BER value")]
    Encoding,
    /// Values nested deeper than 32 levels.
    #[error("values nested too deeply")]
    TooDeep,
    /// A value of another type stands in this place.
    #[error("another type of value was expected")]
    Unexpected,
}

/// Rewrites one BER value as DER. Nothing may follow it.
pub(crate) fn to_der(ber: &[u8]) -> Result<Vec<u8>, BerError> {
    let (value, rest) = rewrite(ber, 0, Role::Plain)?;
    if !rest.is_empty() {
        return Err(BerError::Trailing);
    }
    let mut der = Vec::with_capacity(value.content.len() + 8);
    encode(value.tag, &value.content, &mut der);
    Ok(der)
}

/// Takes the next DER value off the front of `input` and returns its content; its tag must be `tag`.
pub(crate) fn take<'a>(input: &mut &'a [u8], tag: u8) -> Result<&'a [u8], BerError> {
    let (found, length, body) = header(input)?;
    if found != tag {
        return Err(BerError::Unexpected);
    }
    let (content, rest) =
        body.split_at_checked(length.ok_or(BerError::Encoding)?).ok_or(BerError::Truncated)?;
    *input = rest;
    Ok(content)
}

/// A non-negative INTEGER; what is too large for the type saturates, and is then out of bounds.
pub(crate) fn number(content: &[u8]) -> u32 {
    match content {
        [first, ..] if first & 0x80 != 0 => 0,
        _ => content.iter().fold(0_u32, |number, digit| number.saturating_mul(256) | u32::from(*digit)),
    }
}

/// Appends one DER value.
pub(crate) fn encode(tag: u8, content: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    if let Ok(short @ 0..=0x7f) = u8::try_from(content.len()) {
        out.push(short);
    } else {
        let bytes = content.len().to_be_bytes();
        let digits = bytes.iter().skip_while(|b| **b == 0);
        // A length has at most eight octets, so the count fits into the low bits.
        out.push(0x80 | digits.clone().count() as u8);
        out.extend(digits);
    }
    out.extend_from_slice(content);
}

struct Value {
    tag: u8,
    content: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Plain,
    /// A `[0]` that replaces the tag of an octet string: the content of an EncryptedContentInfo.
    ImplicitOctets,
}

fn rewrite(input: &[u8], depth: usize, role: Role) -> Result<(Value, &[u8]), BerError> {
    if depth > MAX_DEPTH {
        return Err(BerError::TooDeep);
    }
    let (tag, length, body) = header(input)?;
    if tag & CONSTRUCTED == 0 {
        let (content, rest) =
            body.split_at_checked(length.ok_or(BerError::Encoding)?).ok_or(BerError::Truncated)?;
        return Ok((Value { tag, content: content.to_vec() }, rest));
    }
    let (mut children, after) = match length {
        Some(length) => body.split_at_checked(length).ok_or(BerError::Truncated)?,
        None => (body, body),
    };
    let pieces = tag == OCTET_STRING | CONSTRUCTED || role == Role::ImplicitOctets;
    let mut content = Vec::new();
    let mut starts_with_oid = false;
    let mut position = 0_usize;
    loop {
        if length.is_some() && children.is_empty() {
            break;
        }
        if length.is_none()
            && let Some(rest) = children.strip_prefix(&[0, 0])
        {
            children = rest;
            break;
        }
        let implicit =
            tag == SEQUENCE && position == 2 && starts_with_oid && children.first() == Some(&CONTEXT_0);
        let role = if implicit { Role::ImplicitOctets } else { Role::Plain };
        let (child, rest) = rewrite(children, depth + 1, role)?;
        if pieces {
            if child.tag != OCTET_STRING {
                return Err(BerError::Unexpected);
            }
            content.extend_from_slice(&child.content);
        } else {
            starts_with_oid |= position == 0 && child.tag == OID;
            encode(child.tag, &child.content, &mut content);
        }
        children = rest;
        position += 1;
    }
    let tag = if pieces { tag & !CONSTRUCTED } else { tag };
    let rest = if length.is_some() { after } else { children };
    Ok((Value { tag, content }, rest))
}

/// Tag, length (none when it is left open) and what follows them.
fn header(input: &[u8]) -> Result<(u8, Option<usize>, &[u8]), BerError> {
    let [tag, first, rest @ ..] = input else { return Err(BerError::Truncated) };
    let (tag, first) = (*tag, *first);
    // Tag numbers above 30 and the end marker outside an open length do not occur in PKCS#12.
    if tag & 0x1f == 0x1f || tag == 0 {
        return Err(BerError::Encoding);
    }
    match first {
        0..=0x7f => Ok((tag, Some(first.into()), rest)),
        0x80 if tag & CONSTRUCTED != 0 => Ok((tag, None, rest)),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked((first & 0x7f).into()).ok_or(BerError::Truncated)?;
            let length = digits.iter().fold(0_usize, |length, digit| length << 8 | usize::from(*digit));
            Ok((tag, Some(length), rest))
        }
        _ => Err(BerError::Encoding),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{BerError, to_der};

    #[test]
    fn open_lengths_and_cut_strings_become_der() {
        // SEQUENCE open { OID, NULL, [0] open { OCTET STRING 01, OCTET STRING 02 03 } }
        let ber = [0x30, 0x80, 6, 1, 42, 5, 0, 0xa0, 0x80, 4, 1, 1, 4, 2, 2, 3, 0, 0, 0, 0];
        assert_eq!(to_der(&ber).unwrap(), [0x30, 10, 6, 1, 42, 5, 0, 0x80, 3, 1, 2, 3]);
        // OCTET STRING { OCTET STRING 01, OCTET STRING open { OCTET STRING 02 } }
        let ber = [0x24, 10, 4, 1, 1, 0x24, 0x80, 4, 1, 2, 0, 0];
        assert_eq!(to_der(&ber).unwrap(), [4, 2, 1, 2]);
        // A length in more octets than needed.
        assert_eq!(to_der(&[4, 0x82, 0, 1, 9]).unwrap(), [4, 1, 9]);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        assert_eq!(to_der(&[]), Err(BerError::Truncated));
        assert_eq!(to_der(&[0x30, 0x80, 5, 0]), Err(BerError::Truncated));
        assert_eq!(to_der(&[4, 0x84, 0xff, 0xff, 0xff, 0xff, 1]), Err(BerError::Truncated));
        assert_eq!(to_der(&[5, 0, 0]), Err(BerError::Trailing));
        assert_eq!(to_der(&[4, 0x80, 0, 0]), Err(BerError::Encoding));
        assert_eq!(to_der(&[0x30, 0x80].repeat(40)), Err(BerError::TooDeep));
        assert_eq!(to_der(&[0x24, 2, 5, 0]), Err(BerError::Unexpected));
    }
}
