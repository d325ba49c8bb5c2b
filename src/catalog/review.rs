//! Whether a person reviews the results of an entry (R-003-32, R-003-33).

use std::time::Duration;

use crate::task::{Blocks, ReviewRule, review_timeout};

use super::{
    document::{CatalogError, Named},
    raw::RawCapability,
};

/// The time for a review if the entry does not say it.
const TIMEOUT: Duration = Duration::from_hours(72);

pub(super) fn compile(
    named: Named<'_>,
    raw: &RawCapability,
) -> Result<Option<ReviewRule>, CatalogError> {
    let review = match (raw.requires_post_review, &raw.review) {
        (Some(true), review) => review,
        (Some(false) | None, None) => return Ok(None),
        (Some(false) | None, Some(review)) => {
            return Err(named.wrong_at(
                review.span().start,
                "`review` has an effect only with `requires_post_review = true`; add that key, or remove `review`",
            ));
        }
    };
    let review = review.as_ref().map(toml::Spanned::get_ref);
    let timeout = review.and_then(|review| review.timeout.as_ref());
    let timeout = timeout.map(|text| {
        review_timeout(text.get_ref())
            .map_err(|problem| named.wrong_at(text.span().start, &problem))
    });
    Ok(Some(ReviewRule {
        blocks: review.map_or(Blocks::No, |review| review.blocks),
        timeout: timeout.transpose()?.unwrap_or(TIMEOUT),
    }))
}
