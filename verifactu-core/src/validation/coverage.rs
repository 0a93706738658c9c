#![doc = include_str!("coverage.md")]

use super::{Level, Needs, Rule, rules};

/// Who looks after what a code of the authority stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coverage {
    /// A rule, from what is stated alone, before there is a record or a message.
    Rule,
    /// The chain and the ledger, while the record is sealed and sent.
    Ledger,
    /// The type of a value: what breaks it is refused when it is read, and cannot be built.
    Value,
    /// What writes the message: no statement can make it write this error.
    Written,
    /// The authority alone: it takes its census, its registers, or its own condition.
    Authority,
    /// Nobody: another code, or none, is answered by the published rules.
    Unused,
}

/// A published code with who looks after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The code.
    pub code: u16,
    /// Who looks after it.
    pub coverage: Coverage,
    /// What that means here, in English.
    pub note: String,
}

/// Every code of the authority's list of 2026-07-30, in ascending order.
#[must_use]
pub fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = ELSEWHERE
        .iter()
        .flat_map(|(coverage, note, codes)| {
            codes.iter().map(|&code| Row { code, coverage: *coverage, note: (*note).to_owned() })
        })
        .chain(rules().filter_map(by_rule))
        .collect();
    rows.sort_by_key(|row| row.code);
    // Several rules may share a code.
    rows.dedup_by(|next, row| {
        let same = next.code == row.code && next.coverage == row.coverage;
        if same {
            row.note.push_str("; ");
            row.note.push_str(&next.note);
        }
        same
    });
    rows
}

fn by_rule(rule: &'static Rule) -> Option<Row> {
    let coverage = match rule.needs() {
        Needs::Statement | Needs::Header => Coverage::Rule,
        Needs::Ledger => Coverage::Ledger,
    };
    let note = match rule.level {
        Level::Doubtful => format!("in doubt: {}", rule.text_en),
        _ => rule.text_en.to_owned(),
    };
    rule.code.map(|code| Row { code, coverage, note })
}

/// The codes that no rule answers, by who looks after them and how.
static ELSEWHERE: &[(Coverage, &str, &[u16])] = {
    use Coverage::{Authority, Unused, Value, Written};
    &[
        (Value, "every value has the type and length of its field", &[1100]),
        (Value, "a country is one of the authority's list", &[1101]),
        (Value, "the kind of a foreign identifier is one of its list", &[1102, 1231]),
        (Value, "the number of a foreign identifier has 1 to 20 characters", &[1222]),
        (Value, "an invoice number has 1 to 60 printable ASCII characters", &[1104, 1130]),
        (Value, "an invoice number has none of the five forbidden characters", &[1287]),
        (Value, "a date is a day of the calendar", &[1105, 1145, 4106]),
        (Value, "the invoice type is one of its list", &[1106, 1265]),
        (Value, "the rectification mode is one of its list", &[1107]),
        (
            Value,
            "a NIF has nine characters, the last of which checks the others",
            &[1120, 1123, 1172, 1176, 1219, 1258, 4109, 4115, 4116, 4117],
        ),
        (Value, "a mark is on, off or absent", &[1136, 1137, 1184, 1212, 1213, 1226, 1274, 1276]),
        (Value, "who issued the invoice is one of its list", &[1151]),
        (Value, "the two marks of a correction are of their lists", &[1171, 1275]),
        (Value, "the system has an identifier of two characters, A to Z or 0 to 9", &[1177]),
        (Value, "the system has a name of 1 to 30 characters", &[1220]),
        (Value, "a record is the first or names its predecessor, never both", &[1180]),
        (Value, "the qualification is one of its list", &[1181]),
        (Value, "the tax is one of its list", &[1218]),
        (Value, "a party has exactly one identification", &[1223, 1228]),
        (Value, "who generated the cancellation is one of its list", &[1225]),
        (Value, "a time of generation has whole seconds and an offset", &[1244, 1268]),
        (Value, "a huella has 64 upper-case hexadecimal digits", &[1262, 1291, 1292, 2002, 2003]),
        (Value, "the only type of huella is 01", &[1247, 1263]),
        (Value, "the caller's reference has at most 60 characters", &[1253]),
        (Value, "a total has at most twelve integer digits and two decimals", &[1266, 1267]),
        (Value, "every party, and the issuer, has a name", &[1282, 1283]),
        (Value, "a query's month and filters have the types of their fields", &[1248, 1249, 1270, 1271]),
        (Written, "the issuer of the header is that of every record", &[1108]),
        (Written, "the predecessor is written from the chain's head", &[1174, 1175, 1269]),
        (Written, "the mark of a first record is S or not there", &[1264]),
        (Written, "the version of the format is 1.0", &[1251]),
        (Written, "only an issuer's representative is marked as one", &[1261]),
        (Written, "no recipient's query asks for the system", &[1272]),
        (Written, "a message has 1 to 1000 records, and a record at most 1000 of each item", &[4113, 4114]),
        (Written, "a message is UTF-8, posted, and not empty", &[4119, 4135, 4138]),
        (Written, "an incident is stated by S or not at all", &[4121]),
        (
            Written,
            "no message answers a requirement, and none says it is voluntary elsewhere",
            &[4122, 4125, 4126, 4127, 4129, 4130, 4131, 4133],
        ),
        (Written, "a message has invoices or cancellations, each in its element", &[4136, 4137]),
        (
            Authority,
            "its census of NIFs and names",
            &[1109, 1110, 1154, 1217, 2001, 4104, 4105, 4107, 4123, 4124],
        ),
        (Authority, "its look-up of EU VAT numbers", &[1121]),
        (Authority, "its register of agreements", &[1128]),
        (Authority, "its register of systems", &[1242, 1285]),
        (
            Authority,
            "it failed",
            &[1129, 1241, 1243, 1256, 1288, 3500, 3501, 4103, 4108, 4110, 4111, 4118, 4128],
        ),
        (Authority, "the dates of a query, which are passed on as its caller gives them", &[1250]),
        (Authority, "what it holds of the invoice, and from whom", &[3001, 3003, 3004]),
        (Authority, "the rights of the certificate's holder", &[4112, 4132, 4140, 4141]),
        (Authority, "its service is closed", &[4134, 4139]),
        (Unused, "the rates before 2013 are no longer listed; 1124 and 1127 speak", &[1132, 1135]),
        (Unused, "the block that another error is in", &[1178, 1179, 1215, 1239, 1240, 1273]),
        (Unused, "1159 says the same", &[1187]),
        (Unused, "the rules admit what it would reject; 2005 speaks", &[1210]),
        (Unused, "the rules admit what it would reject; 2006 speaks", &[1216]),
        (Unused, "the field no longer exists", &[1214]),
        (Unused, "1126, 1230 or 1232 speaks, by the part in which somebody is named", &[1233, 1234]),
        (Unused, "1165 or 1170 speaks, by the day", &[1277]),
        (Unused, "of another service, which takes ledgers", &[3502, 3503]),
    ]
};
