//! A client of the management API. Its calls block.

mod address;
mod connection;
mod credentials;
mod error;
mod events;
mod octets;

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;

use causeway_upf::management::views::ProblemView;

pub(crate) use address::Address;
pub(crate) use credentials::Credentials;
pub(crate) use error::ClientError;
pub(crate) use events::EventReader;
pub(crate) use octets::{OctetReader, Part};

/// Timeout of an exchange. The server answers within 15 s, or not at all.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum size of a response, in octets.
const RESPONSE: usize = 64 << 20;

/// A client of one UPF. Each call opens a connection.
pub(crate) struct Client {
    runtime: Runtime,
    address: Address,
    tls: Option<Arc<ClientConfig>>,
    authorization: Option<HeaderValue>,
}

impl Client {
    /// A client of the UPF at that address. Nothing is sent yet.
    ///
    /// # Errors
    /// A file of the credentials is not usable, or the system provides no event queue.
    pub(crate) fn new(address: Address, credentials: &Credentials) -> Result<Self, ClientError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(ClientError::Runtime)?;
        let is_tls = matches!(address, Address::Tls { .. });
        let tls = if is_tls { Some(credentials.tls()?) } else { None };
        Ok(Self { runtime, address, tls, authorization: credentials.authorization()? })
    }

    /// What `GET` of the path, with these parameters, answers.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        parameters: &[(&str, String)],
    ) -> Result<T, ClientError> {
        self.exchange(Method::GET, &target(path, parameters), Bytes::new())
    }

    /// What a call with a body in JSON, or without one, answers.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, ClientError> {
        let body = body.map(serde_json::to_vec).transpose().map_err(|_| self.foreign())?;
        self.exchange(method, path, body.unwrap_or_default().into())
    }

    /// The stream of server-sent events at a path, from now on.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) fn stream<T: DeserializeOwned>(
        &self,
        path: &str,
        parameters: &[(&str, String)],
    ) -> Result<EventReader<'_, T>, ClientError> {
        Ok(EventReader::new(self, self.open(path, parameters)?))
    }

    /// The octets at a path, from now on, until the user interrupts the program.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) fn octets(
        &self,
        path: &str,
        parameters: &[(&str, String)],
    ) -> Result<OctetReader<'_>, ClientError> {
        OctetReader::new(self, self.open(path, parameters)?)
    }

    /// The body of a response that does not end soon.
    fn open(&self, path: &str, parameters: &[(&str, String)]) -> Result<Incoming, ClientError> {
        let target = target(path, parameters);
        let opening = async {
            let response = self.send(Method::GET, &target, Bytes::new()).await?;
            self.accepted(response).await
        };
        self.in_time(opening).map(Response::into_body)
    }

    fn exchange<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<T, ClientError> {
        self.in_time(async {
            let response = self.send(method, path, body).await?;
            let body = self.body(self.accepted(response).await?).await?;
            serde_json::from_slice(&body).map_err(|_| self.foreign())
        })
    }

    /// The text at a path.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) fn text(&self, path: &str) -> Result<String, ClientError> {
        self.in_time(async {
            let response = self.send(Method::GET, path, Bytes::new()).await?;
            let body = self.body(self.accepted(response).await?).await?;
            String::from_utf8(body.into()).map_err(|_| self.foreign())
        })
    }

    fn in_time<T>(&self, call: impl Future<Output = Result<T, ClientError>>) -> Result<T, ClientError> {
        self.runtime.block_on(async {
            let result = timeout(TIMEOUT, call).await;
            result.unwrap_or_else(|_| Err(ClientError::Slow { address: self.address.clone() }))
        })
    }

    async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<Response<Incoming>, ClientError> {
        let stream = connection::open(&self.address, self.tls.as_ref()).await?;
        let broken = |source| ClientError::Broken { address: self.address.clone(), source };
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path);
        request = request.header(HOST, self.address.host()).header(ACCEPT, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::new(body)).map_err(|_| self.foreign())?;
        sender.send_request(request).await.map_err(broken)
    }

    /// The response, if it is a success.
    async fn accepted(&self, response: Response<Incoming>) -> Result<Response<Incoming>, ClientError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = self.body(response).await?;
        let problem: ProblemView = serde_json::from_slice(&body).map_err(|_| self.foreign())?;
        Err(ClientError::Refused { status: status.as_u16(), detail: problem.detail })
    }

    async fn body(&self, response: Response<Incoming>) -> Result<Bytes, ClientError> {
        let body = Limited::new(response.into_body(), RESPONSE).collect().await;
        body.map(|body| body.to_bytes()).map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(source) => ClientError::Broken { address: self.address.clone(), source: *source },
            Err(error) => {
                debug_assert!(error.is::<LengthLimitError>());
                self.foreign()
            }
        })
    }

    pub(crate) fn foreign(&self) -> ClientError {
        ClientError::Foreign { address: self.address.clone() }
    }
}

/// A path with its query.
fn target(path: &str, parameters: &[(&str, String)]) -> String {
    if parameters.is_empty() {
        return path.to_owned();
    }
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in parameters {
        query.append_pair(name, value);
    }
    format!("{path}?{}", query.finish())
}

/// A text as a segment of a path.
pub(crate) fn segment(text: &str) -> String {
    // What is a plus sign in the text is escaped: the others are spaces.
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  parameters with characters that separate parts of a URL.
    // Output: they are escaped; without parameters there is no question mark.
    #[test]
    fn parameters_are_escaped() {
        assert_eq!(target("/a", &[]), "/a");
        let parameters = [("dnn", "a&b=c d/é".to_owned()), ("ue", "2001:db8::1".to_owned())];
        assert_eq!(target("/a", &parameters), "/a?dnn=a%26b%3Dc+d%2F%C3%A9&ue=2001%3Adb8%3A%3A1");
    }

    // Input:  a text with characters that separate parts of a URL, a space, a plus sign, and an octet that is escaped already.
    // Output: each is escaped, as in a path.
    #[test]
    fn a_segment_is_escaped() {
        assert_eq!(segment("smf-1.example"), "smf-1.example");
        assert_eq!(segment("a b+c?d#e/f%41"), "a%20b%2Bc%3Fd%23e%2Ff%2541");
    }
}
