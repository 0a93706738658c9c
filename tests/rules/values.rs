//! Values: tax numbers, amounts, invoice numbers.

use verifactu_core::types::{Amount, DecimalError, InvoiceNumber, Nif, Rate, TextError};

#[test]
fn nifs() {
    let valid = "89890001K 12345678Z 00000000T 99999999R 93471790C 43596386R 00000010X 54362315K 47776371N 87654321X \
        11111111H 22222222J X0000000T Z0000000M X5102754C Z8327649K Y4174455S X5253868R X1111111G X2222222P X1234567L \
        A58818501 B65410011 V75659383 D40022956 B72877814 B44531218 B00000000 J00000000 J99216582 B64717838 B58378431 \
        A13585625 U12345674 V7565938C F0605378I Q2238877A P0000000J J0000000J Q0000000J N0032484H W0184081H K9514336H \
        M1234567L";
    let invalid = "89890001A 93471790A 00000000A 0111111C 123456789 X5102755C X0000000A A5881850B B65410010 V75659382 \
        V7565938B F06053787 Q22388770 D4002295J B72877810 P00000000 B0000000J J99216583 B64717839 I0000000J 12345678z \
        b65410011 ES12345678Z 12345678-Z ESB12345674 1234567LZ ÑÑÑÑÑÑÑÑÑ";
    for nif in valid.split_whitespace() {
        assert!(Nif::parse(nif).is_ok(), "{nif}");
    }
    for nif in invalid.split_whitespace().chain(["", " 12345678Z", "12345678Z "]) {
        assert!(Nif::parse(nif).is_err(), "{nif:?}");
    }
    // Every wrong letter of a number is refused, and the right one is named.
    for number in 0..200_u32 {
        let right: Vec<_> =
            ('A'..='Z').filter(|letter| Nif::parse(&format!("{number:08}{letter}")).is_ok()).collect();
        assert_eq!(right.len(), 1, "{number}");
    }
}

#[test]
fn amounts() {
    for (text, cents, canonical) in [
        ("0", 0, "0.0"),
        ("-0", 0, "0.0"),
        ("100", 10_000, "100.0"),
        ("100.00", 10_000, "100.0"),
        ("1e2", 10_000, "100.0"),
        ("1e+2", 10_000, "100.0"),
        ("1E2", 10_000, "100.0"),
        ("0.1", 10, "0.1"),
        ("0.10", 10, "0.1"),
        ("21.15", 2_115, "21.15"),
        ("21.05", 2_105, "21.05"),
        ("-0.01", -1, "-0.01"),
        ("+1", 100, "1.0"),
        ("999999999999.99", 99_999_999_999_999, "999999999999.99"),
        ("-999999999999.99", -99_999_999_999_999, "-999999999999.99"),
        ("0.100000", 10, "0.1"),
        ("123e-2", 123, "1.23"),
    ] {
        let amount = Amount::parse(text).unwrap();
        assert_eq!((amount.cents(), amount.to_string().as_str()), (cents, canonical), "{text}");
        assert_eq!(Amount::parse(&amount.to_string()), Ok(amount), "{text}");
    }
    for (text, error) in [
        ("0.001", DecimalError::Scale),
        ("1e-3", DecimalError::Scale),
        ("1000000000000", DecimalError::Magnitude(12)),
        ("1e12", DecimalError::Magnitude(12)),
        ("1e999999999", DecimalError::Magnitude(12)),
        ("1,5", DecimalError::Syntax),
        ("1.", DecimalError::Syntax),
        (".5", DecimalError::Syntax),
        ("", DecimalError::Syntax),
        (" 1", DecimalError::Syntax),
        ("1e", DecimalError::Syntax),
        ("١", DecimalError::Syntax),
        ("NaN", DecimalError::Syntax),
    ] {
        assert_eq!(Amount::parse(text), Err(error), "{text:?}");
    }
    assert_eq!(Rate::parse("-1"), Err(DecimalError::Negative));
    assert_eq!(Rate::parse("1000"), Err(DecimalError::Magnitude(3)));
}

#[test]
fn invoice_numbers() {
    for c in (0..=255_u8).map(char::from) {
        let expected = match c {
            '"' | '\'' | '<' | '>' | '=' => Some(TextError::Forbidden),
            ' '..='~' => None,
            c if c.is_control() => Some(TextError::Control),
            _ => Some(TextError::NotAscii),
        };
        assert_eq!(InvoiceNumber::parse(&format!("A{c}B")).err(), expected, "{c:?}");
    }
    assert_eq!(InvoiceNumber::parse("  A  1 ").unwrap().as_str(), "A  1");
    assert!(InvoiceNumber::parse(&"9".repeat(60)).is_ok());
    assert_eq!(InvoiceNumber::parse(&"9".repeat(61)), Err(TextError::TooLong { max: 60 }));
    assert_eq!(InvoiceNumber::parse(" "), Err(TextError::Empty));
}
