//! What every success body carries besides its own members.

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned, de::Error as _};

use crate::types::RequestId;

/// A success body: `success` and `requestId` around the members of `body`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "{T}Answer"))]
#[serde(rename_all = "camelCase")]
pub struct Envelope<T> {
    success: bool,
    /// The answer itself.
    #[serde(flatten)]
    pub body: T,
    /// Identifies the request, for support.
    pub request_id: RequestId,
}

impl<T> Envelope<T> {
    /// Wraps an answer.
    pub const fn new(body: T, request_id: RequestId) -> Self {
        Self { success: true, body, request_id }
    }
}

/// Read through a tree: serde's own flattening cannot hold numbers of arbitrary precision, and it would
/// read the envelope's two members into a body that keeps unknown ones.
impl<'de, T: DeserializeOwned> Deserialize<'de> for Envelope<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tree = serde_json::Value::deserialize(deserializer)?;
        let request_id = tree.get("requestId").ok_or_else(|| D::Error::missing_field("requestId"))?;
        let request_id = RequestId::deserialize(request_id).map_err(D::Error::custom)?;
        let body = T::deserialize(tree).map_err(D::Error::custom)?;
        Ok(Self::new(body, request_id))
    }
}
