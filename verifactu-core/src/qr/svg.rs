//! The symbol as SVG, one path of horizontal runs on a white ground.

use std::fmt::Write;

use super::{QUIET_ZONE_MM, SIDE_MM, Symbol};

pub(super) fn draw(symbol: &Symbol) -> String {
    let modules = symbol.modules();
    let page = 2.0_f64.mul_add(QUIET_ZONE_MM, SIDE_MM);
    // One unit of the drawing is one module; the quiet zone is stated in the same unit.
    let units = f64::from(u32::try_from(modules).unwrap_or(u32::MAX));
    let quiet = QUIET_ZONE_MM * units / SIDE_MM;
    let extent = 2.0_f64.mul_add(quiet, units);
    let mut out = String::with_capacity(16 * 1024);
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{page}mm\" height=\"{page}mm\" \
         viewBox=\"-{quiet:.4} -{quiet:.4} {extent:.4} {extent:.4}\" shape-rendering=\"crispEdges\">\
         <rect x=\"-{quiet:.4}\" y=\"-{quiet:.4}\" width=\"{extent:.4}\" height=\"{extent:.4}\" fill=\"#fff\"/>\
         <path fill=\"#000\" d=\""
    );
    for row in 0..modules {
        let mut column = 0;
        while column < modules {
            let run = (column..modules).take_while(|column| symbol.is_dark(*column, row)).count();
            if run > 0 {
                let _ = write!(out, "M{column} {row}h{run}v1h-{run}z");
            }
            column += run + 1;
        }
    }
    out.push_str("\"/></svg>\n");
    out
}
