//! The QR: text and picture.

use verifactu_core::{
    qr::{CheckService, Symbol},
    record::InvoiceId,
    types::{Amount, Date, Environment, InvoiceNumber, Nif},
};

fn text(environment: Environment, number: &str, total: &str) -> String {
    let id = InvoiceId {
        issuer: Nif::parse("89890001K").unwrap(),
        number: InvoiceNumber::parse(number).unwrap(),
        date: Date::parse("01-01-2024").unwrap(),
    };
    CheckService::new(environment, "https://localhost:7443/").text_of(&id, Amount::parse(total).unwrap())
}

#[test]
fn texts() {
    // The authority's own example.
    assert_eq!(
        text(Environment::Preproduction, "12345678&G33", "241.4"),
        "https://prewww2.aeat.es/wlpl/TIKE-CONT/ValidarQR?nif=89890001K&numserie=12345678%26G33&fecha=01-01-2024&importe=241.4"
    );
    let number = |number: &str| {
        let text = text(Environment::Production, number, "1");
        let rest = text.strip_prefix(
            "https://www2.agenciatributaria.gob.es/wlpl/TIKE-CONT/ValidarQR?nif=89890001K&numserie=",
        );
        rest.unwrap().strip_suffix("&fecha=01-01-2024&importe=1.0").unwrap().to_owned()
    };
    assert_eq!(number("A+1"), "A%2B1");
    assert_eq!(number("A 1"), "A%201");
    assert_eq!(number("2026/F-001"), "2026%2FF-001");
    assert_eq!(number("100%#?;,:@!$*()"), "100%25%23%3F%3B%2C%3A%40%21%24%2A%28%29");
    assert_eq!(number("a_b.c~d-e"), "a_b.c~d-e");
    let amount = |total: &str| text(Environment::Sandbox, "1", total).rsplit_once('=').unwrap().1.to_owned();
    for (total, spelled) in
        [("241.40", "241.4"), ("21", "21.0"), ("21.15", "21.15"), ("-3", "-3.0"), ("0", "0.0")]
    {
        assert_eq!(amount(total), spelled);
    }
    assert!(
        text(Environment::Sandbox, "1", "1")
            .starts_with("https://localhost:7443/wlpl/TIKE-CONT/ValidarQR?nif=")
    );
}

#[test]
fn every_number_survives_form_decoding() {
    for byte in (33..=126_u8).filter(|byte| !b"\"'<>=".contains(byte)) {
        let number = format!("A{}Z", char::from(byte));
        let text = text(Environment::Production, &number, "1");
        let value = text.split("numserie=").nth(1).unwrap().split('&').next().unwrap();
        assert!(!value.contains('+'));
        let decoded = match value.split_once('%') {
            None => value.to_owned(),
            Some((head, rest)) => {
                let code = u8::from_str_radix(&rest[..2], 16).unwrap();
                format!("{head}{}{}", char::from(code), &rest[2..])
            }
        };
        assert_eq!(decoded, number);
    }
}

/// The pictures are drawn from the same modules, so a decoder reads each of them.
fn decode(width: usize, height: usize, dark: impl Fn(usize, usize) -> bool) -> String {
    let mut image =
        rqrr::PreparedImage::prepare_from_greyscale(width, height, |x, y| if dark(x, y) { 0 } else { 255 });
    let grids = image.detect_grids();
    assert_eq!(grids.len(), 1);
    let (meta, content) = grids[0].decode().unwrap();
    // 0 is level M in the symbol's format bits.
    assert_eq!(meta.ecc_level, 0);
    content
}

#[test]
fn png_decodes_and_has_the_prescribed_size() {
    let longest = "A".repeat(60).replace('A', "/");
    for number in ["12345678&G33", longest.as_str()] {
        let text = text(Environment::Production, number, "-999999999999.99");
        let symbol = Symbol::new(&text).unwrap();
        let file = symbol.png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
        let mut data = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut data).unwrap();
        assert_eq!((frame.color_type, frame.bit_depth), (png::ColorType::Grayscale, png::BitDepth::One));
        let side = usize::try_from(frame.width).unwrap();
        let dark = |x: usize, y: usize| data[y * frame.line_size + x / 8] & (0x80 >> (x % 8)) == 0;
        assert_eq!(decode(side, side, dark), text);

        let dimensions = reader.info().pixel_dims.unwrap();
        assert_eq!((dimensions.xppu, dimensions.unit), (dimensions.yppu, png::Unit::Meter));
        let first = (0..side * side).find(|at| dark(at % side, at / side)).unwrap();
        let (left, top) = (first % side, first / side);
        let right = (0..side).rev().find(|x| dark(*x, top)).unwrap();
        let mm = |pixels: usize| pixels as f64 * 1000.0 / f64::from(dimensions.xppu);
        assert!((30.0..=40.0).contains(&mm(right + 1 - left)), "{}", mm(right + 1 - left));
        assert!(mm(left) >= 6.0 - 1e-3 && left == top, "{}", mm(left));
        assert_eq!((right + 1 - left) % symbol.modules(), 0);
        assert_eq!(left % ((right + 1 - left) / symbol.modules()), 0);
    }
}

#[test]
fn svg_decodes_and_is_in_millimetres() {
    let text = text(Environment::Preproduction, "12345678&G33", "241.4");
    let symbol = Symbol::new(&text).unwrap();
    let svg = symbol.svg();
    assert!(svg.contains("width=\"47mm\" height=\"47mm\""), "{svg}");
    let path = svg.split(" d=\"").nth(1).unwrap().split('"').next().unwrap();
    let modules = symbol.modules();
    let mut dark = vec![false; modules * modules];
    for run in path.split('M').skip(1) {
        let (x, rest) = run.split_once(' ').unwrap();
        let (y, rest) = rest.split_once('h').unwrap();
        let (length, rest) = rest.split_once('v').unwrap();
        assert_eq!(rest, format!("1h-{length}z"));
        let (x, y, length): (usize, usize, usize) =
            (x.parse().unwrap(), y.parse().unwrap(), length.parse().unwrap());
        dark[y * modules + x..][..length].fill(true);
    }
    let (quiet, scale) = (4, 4);
    let side = (modules + 2 * quiet) * scale;
    let module = |at: usize| (at / scale).checked_sub(quiet).filter(|at| *at < modules);
    let found =
        decode(side, side, |x, y| module(x).zip(module(y)).is_some_and(|(x, y)| dark[y * modules + x]));
    assert_eq!(found, text);
}

#[test]
fn terminal_decodes() {
    let text = text(Environment::Preproduction, "12345678&G33", "241.4");
    let drawing = Symbol::new(&text).unwrap().terminal();
    let rows: Vec<Vec<char>> = drawing.lines().map(|line| line.chars().collect()).collect();
    let scale = 4;
    let light = |x: usize, y: usize| match rows[y / 2][x] {
        '█' => true,
        '▀' => y.is_multiple_of(2),
        '▄' => !y.is_multiple_of(2),
        _ => false,
    };
    // The last row of an odd number of modules has no lower half.
    let (width, height) = (rows[0].len(), rows[0].len());
    assert_eq!(decode(width * scale, height * scale, |x, y| !light(x / scale, y / scale)), text);
}

#[test]
fn a_text_that_does_not_fit_is_refused() {
    assert!(Symbol::new(&"x".repeat(5000)).is_err());
}
