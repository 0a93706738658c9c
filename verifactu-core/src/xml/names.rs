//! Namespaces of the service (WSDL and schemas). Elements are matched by namespace and local name,
//! never by prefix.

/// SOAP 1.1 envelope.
pub const SOAP: &str = "http://schemas.xmlsoap.org/soap/envelope/";
/// Request of the registration service (`SuministroLR.xsd`).
pub const REGISTRATION: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/SuministroLR.xsd";
/// Shared types, and the records themselves (`SuministroInformacion.xsd`).
pub const INFORMATION: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/SuministroInformacion.xsd";
/// Answer of the registration service (`RespuestaSuministro.xsd`).
pub const REGISTRATION_ANSWER: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/RespuestaSuministro.xsd";
/// Request of the query (`ConsultaLR.xsd`).
pub const QUERY: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/ConsultaLR.xsd";
/// Answer of the query (`RespuestaConsultaLR.xsd`).
pub const QUERY_ANSWER: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/RespuestaConsultaLR.xsd";
/// Answer of the check of NIFs (`VNifV2Sal.xsd`), as its schema has it.
pub const NIF_CHECK_ANSWER: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/burt/jdit/ws/VNifV2Sal.xsd";
/// The same as the service's manual has it.
pub const NIF_CHECK_ANSWER_PLAIN: &str = "http://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/burt/jdit/ws/VNifV2Sal.xsd";
/// XML signatures.
pub const SIGNATURE: &str = "http://www.w3.org/2000/09/xmldsig#";
