//! tmp
pub struct Signer;
pub enum SigningError {
    NotARecord,
}
impl std::fmt::Display for SigningError {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
impl std::fmt::Debug for SigningError {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
impl std::error::Error for SigningError {}
impl Signer {
    pub fn sign(
        &self,
        _: &str,
        _: uuid::Uuid,
        _: jiff::Timestamp,
        _: &mut Vec<u8>,
    ) -> Result<(), SigningError> {
        Err(SigningError::NotARecord)
    }
}
