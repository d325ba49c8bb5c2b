//! Something that was made, in the page itself.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::{
    perform::{Exhibit, Made, Room, Shown, Still, exhibit},
    task::Sight,
};

use super::{
    super::{Desk, size},
    html::{block, escaped},
};

/// Something that was made: it plays, it shows, or there is a link to it.
pub(super) fn figure(made: &Made, desk: &Desk, room: &mut Room) -> String {
    let Exhibit { still, shown, link } = exhibit(made, &desk.settings.root, room);
    let name = escaped(&made.ref_id);
    let inside = match shown {
        Shown::Media { media_type, bytes } => {
            let source = format!("data:{media_type};base64,{}", STANDARD.encode(bytes));
            match media_type.split('/').next() {
                Some("audio") => {
                    format!("<audio controls preload=\"metadata\" src=\"{source}\"></audio>")
                }
                Some("video") => {
                    format!("<video controls preload=\"metadata\" src=\"{source}\"></video>")
                }
                _ => format!("<img alt=\"{name}\" src=\"{source}\">"),
            }
        }
        Shown::Words(words) => block(&words),
        Shown::TooLarge => "<p class=\"soft\">Too large to be shown here.</p>".to_owned(),
        Shown::Nothing => String::new(),
    };
    let place = escaped(&made.storage_uri);
    let place = match link {
        Some(link) => format!("<a href=\"{}\">{place}</a>", escaped(&link)),
        None => place,
    };
    let weight = match &made.print.sight {
        Sight::Content(content) => format!(" · {}", size(content.bytes)),
        Sight::Absent | Sight::Unknown => String::new(),
    };
    let since = match still {
        Still::Same | Still::Unknown => "",
        Still::Other => " · <span class=\"bad\">changed since</span>",
        Still::Gone => " · <span class=\"bad\">gone since</span>",
    };
    let kind = escaped(&made.asset_type);
    format!(
        "<figure>{inside}<figcaption><strong>{name}</strong> · {kind}{weight}{since}<br>{place}</figcaption></figure>\n"
    )
}
