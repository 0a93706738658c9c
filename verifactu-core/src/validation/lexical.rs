//! The codes the authority answers for a value that is not of its field's form or list. Such values
//! are refused when they are read, so there is no rule for them in the table.

use crate::types::TextError;

use super::Field;

/// The code for a value that is not of its field's form, where the authority has one (code list,
/// section two).
#[must_use]
pub const fn lexical_code(field: Field) -> Option<u16> {
    Some(match field {
        Field::Country => 1101,
        Field::ForeignIdType => 1102,
        Field::ForeignIdNumber => 1103,
        Field::Number => 1104,
        Field::Date => 1105,
        Field::InvoiceType => 1106,
        Field::RectificationMode => 1107,
        Field::Issuer | Field::Nif => 1123,
        Field::QualifiedSimplified => 1136,
        Field::LargeAmount => 1137,
        Field::OperationDate => 1145,
        Field::IssuedBy => 1151,
        Field::Coupon => 1157,
        Field::Corrects => 1171,
        Field::SystemId => 1177,
        Field::Qualification => 1181,
        Field::Exemption => 1182,
        Field::WithoutRecipient => 1184,
        Field::VerifactuOnly => 1212,
        Field::MultipleIssuersPossible => 1213,
        Field::Tax => 1218,
        Field::GeneratedBy => 1225,
        Field::MultipleIssuers => 1226,
        Field::GeneratedAt => 1244,
        Field::Regime => 1246,
        Field::HuellaType => 1247,
        Field::ExternalReference => 1253,
        Field::FirstRecord => 1274,
        Field::PriorRejection => 1275,
        Field::WithoutPriorRecord => 1276,
        _ => return None,
    })
}

/// The code for a text that is no invoice number (Val 3.1.3.1).
#[must_use]
pub const fn number_code(error: TextError) -> u16 {
    match error {
        TextError::NotAscii => 1130,
        TextError::Forbidden => 1287,
        _ => 1104,
    }
}
