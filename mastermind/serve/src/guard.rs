//! Access control: only the page of this server, in a browser on this machine, with the token of the printed address,
//! may send requests.
//!
//! A server on 127.0.0.1 can be reached by every page that is open in the browser. Three checks keep others out:
//! - **`Host`** must be this machine's address or `localhost`, with the port. A foreign name that was made to resolve
//!   to 127.0.0.1 (DNS rebinding) has another one.
//! - **`Origin`**, which a browser sends with a page's requests to another site, must be this server's, and
//!   `Sec-Fetch-Site` must agree.
//! - **the token**, 128 random bits, comes in a header of its own, which a foreign page cannot set without a permission
//!   that this server gives to nobody (CORS). It is required for everything but the files of the page, which contain
//!   nothing of the user's.

use std::fmt;

use axum::http::{HeaderMap, StatusCode, header};

use crate::Error;

/// The header with the token.
pub const TOKEN_HEADER: &str = "x-mastermind-token";

/// Permissions of the page's files: they may only use this server.
pub const POLICY: &str = "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; form-action 'none'; \
                          frame-ancestors 'none'";

/// A secret of this run of the server.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Sixteen random bytes.
    pub fn random() -> Result<Token, Error> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(Error::Random)?;
        Ok(Token(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    /// Whether `given` is the token; takes the same time for all values.
    fn is(&self, given: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let differing = own
            .iter()
            .zip(given)
            .fold(0, |differing, (a, b)| differing | (a ^ b));
        own.len() == given.len() && differing == 0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a request is refused: the status and a sentence.
pub type Refusal = (StatusCode, &'static str);

/// Whether a request comes from this machine's own page; `port` is the server's.
pub fn check_origin(headers: &HeaderMap, port: u16) -> Result<(), Refusal> {
    let own = |host: &str| {
        let (name, given) = host.rsplit_once(':').unwrap_or((host, "80"));
        matches!(name, "127.0.0.1" | "localhost") && given == port.to_string()
    };
    // Two values are as bad as a foreign one.
    let one = |name: header::HeaderName| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
            (Some(_), Some(_)) => Err(()),
        }
    };
    match one(header::HOST) {
        Ok(Some(host)) if own(host) => {}
        _ => {
            return Err((
                StatusCode::FORBIDDEN,
                "cannot answer: another host's name, expected 127.0.0.1 or localhost with this server's port",
            ));
        }
    }
    let foreign = Err((
        StatusCode::FORBIDDEN,
        "cannot answer: asked by a page of another site",
    ));
    match one(header::ORIGIN) {
        Ok(None) => {}
        Ok(Some(origin)) if origin.strip_prefix("http://").is_some_and(own) => {}
        _ => return foreign,
    }
    match one(header::HeaderName::from_static("sec-fetch-site")) {
        Ok(None | Some("same-origin" | "none")) => Ok(()),
        _ => foreign,
    }
}

/// Whether a request has the token.
pub fn check_token(headers: &HeaderMap, token: &Token) -> Result<(), Refusal> {
    let given = headers.get(TOKEN_HEADER);
    if given.is_some_and(|given| token.is(given.as_bytes())) {
        return Ok(());
    }
    Err((
        StatusCode::UNAUTHORIZED,
        "cannot answer: no token or another one, expected that of the address that mastermind serve printed",
    ))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue};

    use super::{Token, check_origin, check_token};

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        map
    }

    #[test]
    fn only_this_page_asks() {
        let accepted: [&[(&str, &str)]; 4] = [
            &[("host", "127.0.0.1:81")],
            &[("host", "localhost:81"), ("sec-fetch-site", "none")],
            &[("host", "127.0.0.1:81"), ("origin", "http://127.0.0.1:81")],
            &[("host", "localhost:81"), ("sec-fetch-site", "same-origin")],
        ];
        for pairs in accepted {
            assert_eq!(check_origin(&headers(pairs), 81), Ok(()), "{pairs:?}");
        }
        let refused: [&[(&str, &str)]; 11] = [
            &[],
            &[("host", "127.0.0.1")],
            &[("host", "127.0.0.1:82")],
            &[("host", "evil.example:81")],
            &[("host", "127.0.0.1.evil.example:81")],
            &[("host", "127.0.0.1:81"), ("host", "evil.example:81")],
            &[
                ("host", "127.0.0.1:81"),
                ("origin", "http://evil.example:81"),
            ],
            &[("host", "127.0.0.1:81"), ("origin", "https://127.0.0.1:81")],
            &[("host", "127.0.0.1:81"), ("origin", "null")],
            &[("host", "127.0.0.1:81"), ("sec-fetch-site", "cross-site")],
            &[("host", "127.0.0.1:81"), ("sec-fetch-site", "same-site")],
        ];
        for pairs in refused {
            assert!(check_origin(&headers(pairs), 81).is_err(), "{pairs:?}");
        }
    }

    #[test]
    fn the_token_and_no_part_of_it_is_taken() {
        let token = Token("0123456789abcdef".to_owned());
        let given = |value| check_token(&headers(&[(super::TOKEN_HEADER, value)]), &token);
        assert_eq!(given("0123456789abcdef"), Ok(()));
        for wrong in [
            "",
            "0123456789abcde",
            "0123456789abcdef0",
            "0123456789abcdeg",
        ] {
            assert!(given(wrong).is_err(), "{wrong:?}");
        }
        assert!(check_token(&HeaderMap::new(), &token).is_err());
    }
}
