//! The symbol as PNG, with the pixel density that gives it its printed size.

use png::{BitDepth, ColorType, Encoder, PixelDimensions, Unit};

use super::{QUIET_ZONE_MM, SIDE_MM, Symbol};

/// Pixels per module. At the prescribed size this is about 600 pixels an inch for the usual symbol
/// of 49 modules.
const SCALE: usize = 16;

/// The encoder failed.
#[derive(Debug, thiserror::Error)]
#[error("the picture could not be encoded")]
pub struct PngError(#[from] png::EncodingError);

pub(super) fn draw(symbol: &Symbol) -> Result<Vec<u8>, PngError> {
    let modules = symbol.modules();
    let pixels = |count: usize| f64::from(u32::try_from(count * SCALE).unwrap_or(u32::MAX));
    let density = (pixels(modules) / (SIDE_MM / 1000.0)).round() as u32;
    // Whole modules, so that the symbol stays aligned, and not less than the quiet zone.
    let quiet = (QUIET_ZONE_MM * pixels(modules) / SIDE_MM / pixels(1)).ceil() as usize;
    let side = (modules + 2 * quiet) * SCALE;

    let row_bytes = side.div_ceil(8);
    let mut data = vec![0xFF_u8; row_bytes * side];
    for (y, row) in data.chunks_exact_mut(row_bytes).enumerate() {
        let Some(module_row) = (y / SCALE).checked_sub(quiet) else { continue };
        for x in 0..side {
            let dark =
                (x / SCALE).checked_sub(quiet).is_some_and(|column| symbol.is_dark(column, module_row));
            if dark && let Some(byte) = row.get_mut(x / 8) {
                *byte &= !(0x80 >> (x % 8));
            }
        }
    }

    let mut file = Vec::with_capacity(8 * 1024);
    let side = u32::try_from(side).unwrap_or(u32::MAX);
    let mut encoder = Encoder::new(&mut file, side, side);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::One);
    encoder.set_pixel_dims(Some(PixelDimensions { xppu: density, yppu: density, unit: Unit::Meter }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&data)?;
    writer.finish()?;
    Ok(file)
}
