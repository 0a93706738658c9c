//! The shapes of EU VAT numbers (Val, note 1): the country prefix and what follows it, upper case only.

/// Whether a text has the shape of a member state's, or Northern Ireland's, VAT number.
pub(super) fn has_shape(id: &str) -> bool {
    let Some((prefix, body)) = id.split_at_checked(2) else { return false };
    let digits =
        |lengths: &[usize]| lengths.contains(&body.len()) && body.bytes().all(|b| b.is_ascii_digit());
    let letters = |lengths: &[usize]| {
        lengths.contains(&body.len()) && body.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
    };
    match prefix {
        "DE" | "EE" | "EL" | "PT" => digits(&[9]),
        "BE" | "PL" | "SK" => digits(&[10]),
        "BG" => digits(&[9, 10]),
        "HR" | "IT" | "LV" => digits(&[11]),
        "CZ" => digits(&[8, 9, 10]),
        "DK" | "FI" | "HU" | "LU" | "MT" | "SI" => digits(&[8]),
        "LT" => digits(&[9, 12]),
        "RO" => digits(&[2, 3, 4, 5, 6, 7, 8, 9, 10]) && !body.starts_with('0'),
        "SE" => digits(&[12]),
        "AT" | "CY" => letters(&[9]),
        "FR" => letters(&[11]),
        "IE" => letters(&[8, 9]),
        "NL" => letters(&[12]),
        "XI" | "GB" => letters(&[5, 9, 12]),
        _ => false,
    }
}

/// Whether a country of the authority's list goes with a VAT prefix. Greece and Northern Ireland
/// have a prefix that is no country of the list.
pub(super) fn belongs_to(prefix: &str, country: &str) -> bool {
    prefix == country || matches!((prefix, country), ("EL", "GR") | ("XI", "GB"))
}
