//! The symbol as text: each character is two modules, one above the other. Light modules are drawn,
//! because a terminal's ground is usually dark.

use super::Symbol;

/// Modules of light around the symbol.
const QUIET: usize = 4;

pub(super) fn draw(symbol: &Symbol) -> String {
    let side = symbol.modules() + 2 * QUIET;
    let light = |column: usize, row: usize| {
        row < side
            && !matches!((column.checked_sub(QUIET), row.checked_sub(QUIET)),
                (Some(column), Some(row)) if symbol.is_dark(column, row))
    };
    let mut out = String::with_capacity(side * side * 2);
    for row in (0..side).step_by(2) {
        out.extend((0..side).map(|column| match (light(column, row), light(column, row + 1)) {
            (true, true) => '█',
            (true, false) => '▀',
            (false, true) => '▄',
            (false, false) => ' ',
        }));
        out.push('\n');
    }
    out
}
