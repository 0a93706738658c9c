//! The check character of a NIF.
//!
//! DNI and NIE: the number modulo 23 picks a letter. Entities: a weighted sum picks a digit or a
//! letter, by the kind of entity. For K, L and M no algorithm is published, so only their shape
//! counts.

const LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";
const ENTITY_LETTERS: &[u8; 10] = b"JABCDEFGHI";

/// Whether the nine characters can be a NIF.
pub(crate) fn is_valid(nif: &str) -> bool {
    let bytes = nif.as_bytes();
    let [first, middle @ .., last] = bytes else {
        return false;
    };
    if middle.len() != 7 {
        return false;
    }
    match first {
        b'0'..=b'9' => person(*first - b'0', middle, *last),
        b'X'..=b'Z' => person(*first - b'X', middle, *last),
        b'K' | b'L' | b'M' => {
            let inner = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
            middle.iter().all(inner) && last.is_ascii_uppercase()
        }
        _ => entity(*first, middle, *last),
    }
}

/// Whether a valid NIF is a natural person's.
pub(crate) fn is_person(nif: &str) -> bool {
    nif.starts_with(|first: char| first.is_ascii_digit() || matches!(first, 'K'..='M' | 'X'..='Z'))
}

/// DNI and NIE alike, once the letter of a NIE has become its digit.
fn person(leading: u8, middle: &[u8], last: u8) -> bool {
    if !middle.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let number =
        middle.iter().fold(u32::from(leading), |number, digit| number * 10 + u32::from(digit - b'0'));
    LETTERS.get((number % 23) as usize) == Some(&last)
}

fn entity(first: u8, middle: &[u8], last: u8) -> bool {
    if !middle.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 = middle
        .iter()
        .enumerate()
        .map(|(index, digit)| {
            let digit = u32::from(digit - b'0');
            if index % 2 == 0 { digit * 2 / 10 + digit * 2 % 10 } else { digit }
        })
        .sum();
    let control = (10 - sum % 10) % 10;
    let digit = u32::from(last) == u32::from(b'0') + control;
    let letter = ENTITY_LETTERS.get(control as usize) == Some(&last);
    match first {
        b'N' | b'P' | b'Q' | b'R' | b'S' | b'W' => letter,
        b'A' | b'B' | b'E' | b'H' => digit,
        b'C' | b'D' | b'F' | b'G' | b'J' | b'U' | b'V' => digit || letter,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_valid;

    #[test]
    fn check_characters() {
        let valid = "89890001K 89890002E 12345678Z 00000000T X0000000T Z0000000M X5102754C A58818501 \
                     B65410011 V75659383 V7565938C F0605378I Q2238877A P0000000J N0032484H W0184081H";
        for nif in valid.split_whitespace() {
            assert!(is_valid(nif), "{nif}");
        }
        let invalid = "89890001A 00000000A 0111111C 123456789 X5102755C A5881850B B65410010 V75659382 \
                       Q22388770 D4002295J P00000000 B0000000J I0000000J ñ2345678Z";
        for nif in invalid.split_whitespace() {
            assert!(!is_valid(nif), "{nif}");
        }
    }
}
