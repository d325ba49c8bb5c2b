//! What of a URL may be shown: everything but its user name, password, fragment and presign parts.

use url::Url;

use crate::task::is_presign_parameter;

/// The URL as it may be shown: without user name, password, fragment and presign parameters. What
/// remains keeps its order.
pub(super) fn presentable(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_fragment(None);
    // Neither can fail for a URL with a host; one without a host has no user name either.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    // Cut as text, not re-encoded: the rest of the query stays byte for byte what it was.
    let kept: Vec<&str> = url
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty() && !is_secret(pair))
        .collect();
    shown.set_query((!kept.is_empty()).then(|| kept.join("&")).as_deref());
    shown.into()
}

fn is_secret(pair: &str) -> bool {
    // Decoded, so that `X%2DAmz-Signature` is known too.
    let mut decoded = url::form_urlencoded::parse(pair.as_bytes());
    decoded
        .next()
        .is_some_and(|(name, _)| is_presign_parameter(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(url: &str) -> String {
        presentable(&Url::parse(url).unwrap())
    }

    #[test]
    fn presign_parameters_are_cut_and_the_others_stay_as_they_were() {
        assert_eq!(
            shown(
                "https://b.example/k.mp4?v=1&X-Amz-Signature=abc&x%2Damz-date=2&part=a%20b&Expires=9&sig=z"
            ),
            "https://b.example/k.mp4?v=1&part=a%20b"
        );
    }

    #[test]
    fn a_query_of_secrets_alone_disappears() {
        assert_eq!(
            shown("https://b.example/k?token=t&AWSAccessKeyId=k&Signature=s"),
            "https://b.example/k"
        );
    }

    #[test]
    fn user_name_password_and_fragment_are_cut() {
        assert_eq!(
            shown("http://me:word@b.example:8080/k?a=1#access_token=t"),
            "http://b.example:8080/k?a=1"
        );
    }
}
