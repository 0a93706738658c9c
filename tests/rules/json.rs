//! Reading JSON strictly, and its fingerprint.

use verifactu_core::api::{Json, JsonProblem, canonical, fingerprint};

fn parse(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

fn problem(text: &str) -> JsonProblem {
    Json::parse(text.as_bytes()).unwrap_err().problem
}

#[test]
fn numbers_keep_their_text() {
    for text in ["0", "-0", "-7", "100", "100.0", "0.1", "126.20", "999999999999.99", "18446744073709551616"]
    {
        assert_eq!(parse(text), Json::Number(text.into()), "{text}");
    }
    for (text, kept) in [("1e2", "1e+2"), ("1E+2", "1e+2"), ("1.50e-400", "1.50e-400")] {
        assert_eq!(parse(text), Json::Number(kept.into()), "{text}");
    }
    assert_eq!(
        parse(r#"{"a":[1,2.50]}"#).member("a"),
        Some(&Json::Array(vec![Json::Number("1".into()), Json::Number("2.50".into())]))
    );
}

#[test]
fn the_number_token_of_the_parser_is_no_way_in() {
    for value in [r#""1""#, "1", r#"{"$serde_json::private::Number":"1"}"#, r#""\u0031""#] {
        let body = format!(r#"{{"$serde_json::private::Number":{value}}}"#);
        assert!(matches!(problem(&body), JsonProblem::Syntax(_)), "{body}");
    }
}

#[test]
fn duplicate_keys_are_named_with_their_path() {
    let path = |text: &str| match problem(text) {
        JsonProblem::DuplicateKey(path) => path,
        other => panic!("{other:?}"),
    };
    assert_eq!(path(r#"{"a":1,"a":2}"#), "a");
    assert_eq!(path(r#"{"a":1,"\u0061":2}"#), "a");
    assert_eq!(path(r#"{"desglose":[{"base":1},{"base":1,"base":2}]}"#), "desglose[1].base");
    let error = Json::parse(b"{\"a\":1,\n \"a\":2}").unwrap_err();
    assert_eq!(error.line, 2);
    assert!(error.to_string().starts_with("duplicate key a at line 2, column "), "{error}");
}

#[test]
fn depth_and_width_are_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Json::parse(nested(32).as_bytes()).is_ok());
    assert_eq!(problem(&nested(33)), JsonProblem::Depth);
    assert_eq!(problem(&nested(100_000)), JsonProblem::Depth);
    let objects = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    assert!(Json::parse(objects(32).as_bytes()).is_ok());
    assert_eq!(problem(&objects(33)), JsonProblem::Depth);
    let members = |count: usize| {
        let members: Vec<_> = (0..count).map(|n| format!(r#""k{n}":0"#)).collect();
        format!("{{{}}}", members.join(","))
    };
    assert!(Json::parse(members(256).as_bytes()).is_ok());
    assert_eq!(problem(&members(257)), JsonProblem::Members);
    assert_eq!(problem(&format!("[{}1]", "1,".repeat(1_000_000))), JsonProblem::Values);
}

#[test]
fn what_is_not_json_is_told_with_its_place() {
    for (text, line) in [
        ("", 1),
        ("{", 1),
        ("{} x", 1),
        ("{\"a\":01}", 1),
        ("{\"a\":1.}", 1),
        ("{\"a\":.5}", 1),
        ("{\"a\":+1}", 1),
        ("{\"a\":NaN}", 1),
        ("{\n\"a\":\n'x'}", 3),
        ("{\"a\":1,}", 1),
        ("\"\\ud800\"", 1),
        ("// c\n{}", 1),
    ] {
        let error = Json::parse(text.as_bytes()).unwrap_err();
        assert!(matches!(error.problem, JsonProblem::Syntax(_)), "{text}: {error:?}");
        assert_eq!(error.line, line, "{text}: {error}");
        assert_eq!(error.to_string().matches("at line").count(), 1, "{error}");
    }
    assert!(Json::parse(b"\"\xff\"").is_err());
    assert!(Json::parse("\u{feff}{}".as_bytes()).is_err());
}

#[test]
fn canonical_form_orders_and_escapes_as_rfc_8785() {
    // The example of RFC 8785, 3.2.3: keys by UTF-16 code units.
    let body = parse(
        "{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\",\
         \"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\",\
         \"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
    );
    let expected = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
                    \"\u{f6}\":\"Latin Small Letter O With Diaeresis\",\"\u{20ac}\":\"Euro Sign\",\
                    \"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}";
    assert_eq!(canonical(&body), expected);
    // RFC 8785, 3.2.2.2, and the literals beside it.
    let body =
        parse(r#"{"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#);
    let expected = r#"{"literals":[null,true,false],"string":"€$\u000f\nA'B\"\\\\\"/"}"#;
    assert_eq!(canonical(&body), expected);
}

#[test]
fn equal_numbers_have_one_fingerprint() {
    for group in [
        &["100", "100.0", "1e2", "1E+2", "1000e-1", "0.1e3", "10.00e1"][..],
        &["0", "-0", "0.0", "0e9", "-0.00e-7"],
        &["-1.5", "-1.50", "-15e-1"],
        &["0.1", "1e-1", "0.10"],
    ] {
        let prints: Vec<_> = group.iter().map(|text| fingerprint(&parse(text))).collect();
        assert!(prints.windows(2).all(|pair| pair[0] == pair[1]), "{group:?}");
    }
    let distinct = [
        "100",
        "\"100\"",
        "10",
        "-100",
        "100.01",
        "1e3",
        "null",
        "[]",
        "{}",
        "[100]",
        "99999999999999999999.01",
        "99999999999999999999.02",
        "1e99999999999999999999999999999999999999999",
        "1e9999999999999999999",
    ];
    for (at, one) in distinct.iter().enumerate() {
        for other in &distinct[at + 1..] {
            assert_ne!(fingerprint(&parse(one)), fingerprint(&parse(other)), "{one} {other}");
        }
    }
    let (one, other) =
        (r#"{"b":[1,{"d":2,"c":3}],"a":"x"}"#, " {\"a\" : \"\\u0078\",\n\"b\":[1.0,{\"c\":3,\"d\":2}]} ");
    assert_eq!(fingerprint(&parse(one)), fingerprint(&parse(other)));
}
