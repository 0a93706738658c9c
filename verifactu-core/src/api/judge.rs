//! What findings of the rules mean for a request: an error or a warning.

use crate::validation::{Finding, Level};

use super::{Detail, Warning, names::rest_path};

/// Findings, sorted by their consequence.
#[derive(Default)]
pub(super) struct Judgement {
    pub(super) details: Vec<Detail>,
    pub(super) warnings: Vec<Warning>,
    /// The rules whose findings would be errors if the operator had not demoted them, each once.
    pub(super) demoted: Vec<&'static str>,
}

/// What the authority admits, what is doubtful, and what the operator has demoted, is a warning; the rest is
/// an error.
pub(super) fn judge(findings: impl IntoIterator<Item = Finding>, demoted: &[String]) -> Judgement {
    let mut judgement = Judgement::default();
    for Finding { rule, path, message } in findings {
        let field = rest_path(&path);
        let is_demoted = rule.is_demotable() && demoted.iter().any(|id| id == rule.id);
        if matches!(rule.level, Level::Admitted | Level::Doubtful) || is_demoted {
            let code = rule.code.map_or_else(|| rule.id.to_owned(), |code| code.to_string());
            if is_demoted && !judgement.demoted.contains(&rule.id) {
                judgement.demoted.push(rule.id);
            }
            judgement.warnings.push(Warning { code, field: Some(field), message });
        } else {
            judgement.details.push(Detail::new(field, rule.code, message));
        }
    }
    judgement
}
