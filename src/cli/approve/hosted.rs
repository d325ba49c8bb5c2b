//! Requests for approvals, for the gateway: it asks the user of its host where the catalog allows that.

use camino::Utf8PathBuf;

use crate::{gateway::Requests, host::Interrupts, record::Gesture, task::Answer};

use super::{
    super::{Stop, printing::Desk, settings::PlaceArgs, stop},
    readable, record, request,
    request::{Request, Values},
};

/// The requests of one project.
#[derive(Debug)]
pub(in crate::cli) struct Hosted {
    pub(in crate::cli) root: Utf8PathBuf,
    pub(in crate::cli) catalog: Utf8PathBuf,
    pub(in crate::cli) interrupts: Interrupts,
}

impl Hosted {
    /// The request with this id for exactly this call.
    fn find(&self, id: &str, intent_hash: &str) -> Result<(Desk, Request), Stop> {
        let places = PlaceArgs {
            root: Some(self.root.clone()),
            catalog: Some(self.catalog.clone()),
        };
        let (desk, request) = super::find(id, places, self.interrupts.clone())?;
        if request.case.asked.intent_hash == intent_hash {
            Ok((desk, request))
        } else {
            Err(stop(2)(format!("{id} is a request for another call")))
        }
    }
}

impl Requests for Hosted {
    fn shown(&self, id: &str, intent_hash: &str) -> Result<String, String> {
        let (desk, request) = self.find(id, intent_hash).map_err(|stop| stop.why)?;
        let mut text = request::shown(&request, &desk, Values::Whole);
        text.extend(request.diff.as_deref().map(readable));
        Ok(text)
    }

    fn decide(
        &self,
        (id, intent_hash): (&str, &str),
        answer: Answer,
        host: &str,
    ) -> Result<(), String> {
        let found = self.find(id, intent_hash);
        let voted = found
            .and_then(|(desk, request)| record(&desk, &request, answer, Gesture::Told(host), None));
        voted.map(drop).map_err(|stop| stop.why)
    }
}
