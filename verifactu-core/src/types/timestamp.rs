//! The moment a record was generated: an instant together with the literal text that was hashed.

use std::{fmt, sync::OnceLock};

use jiff::{
    Timestamp,
    fmt::temporal::{DateTimeParser, DateTimePrinter},
    tz::TimeZone,
};

/// The moment a record was generated, whole seconds, with its literal text
/// (`YYYY-MM-DDThh:mm:ss` and `Z` or an offset). The text is kept because the huella covers it.
#[doc(alias = "FechaHoraHusoGenRegistro")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct GenerationTime {
    instant: Timestamp,
    text: Box<str>,
}

/// The text is not a generation time the authority admits (code 1244).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write date, time and offset as YYYY-MM-DDThh:mm:ss+hh:mm, without fractions of a second")]
pub struct GenerationTimeError;

impl GenerationTime {
    /// The instant cut to whole seconds, written with the offset of Europe/Madrid.
    ///
    /// ```
    /// use verifactu_core::types::GenerationTime;
    /// let time = GenerationTime::in_madrid("2026-07-01T10:00:00.9Z".parse()?);
    /// assert_eq!(time.as_str(), "2026-07-01T12:00:00+02:00");
    /// # Ok::<(), jiff::Error>(())
    /// ```
    #[must_use]
    pub fn in_madrid(instant: Timestamp) -> Self {
        const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(0));
        let instant = Timestamp::from_second(instant.as_second()).unwrap_or(instant);
        let text = PRINTER.timestamp_with_offset_to_string(&instant, madrid().to_offset(instant));
        Self { instant, text: text.into() }
    }

    /// Reads a literal and keeps it as it stands.
    ///
    /// # Errors
    /// [`GenerationTimeError`] for anything but whole seconds with `Z` or `±hh:mm`.
    pub fn parse(text: &str) -> Result<Self, GenerationTimeError> {
        const PARSER: DateTimeParser = DateTimeParser::new();
        let shape = match text.len() {
            20 => "dddd-dd-ddTdd:dd:ddZ",
            25 => "dddd-dd-ddTdd:dd:dd±dd:dd",
            _ => return Err(GenerationTimeError),
        };
        let fits = shape.chars().zip(text.chars()).all(|(wanted, found)| match wanted {
            'd' => found.is_ascii_digit(),
            '±' => found == '+' || found == '-',
            other => found == other,
        });
        if !fits {
            return Err(GenerationTimeError);
        }
        let instant = PARSER.parse_timestamp(text).map_err(|_| GenerationTimeError)?;
        Ok(Self { instant, text: text.into() })
    }

    /// The instant.
    #[must_use]
    pub const fn instant(&self) -> Timestamp {
        self.instant
    }

    /// The literal text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for GenerationTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for GenerationTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The zone whose offset new records carry; bundled, so that it exists on every machine.
pub(crate) fn madrid() -> &'static TimeZone {
    static MADRID: OnceLock<TimeZone> = OnceLock::new();
    MADRID.get_or_init(|| TimeZone::get("Europe/Madrid").unwrap_or(TimeZone::UTC))
}
