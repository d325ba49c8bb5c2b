//! What the reader of a server's stdout does with lines, without a server: for fuzzing.

use rmcp::{RoleClient, service::TxJsonRpcMessage};
use serde_json::json;

use super::{desk::Desk, message, wire};
use crate::task::Secrets;

/// Reads these bytes as a server's stdout, in the handshake and in a call. What is kept of them
/// must not hold the secret: of letters and digits only, so that no mask makes a new one.
pub(crate) fn overhear(stdout: &[u8], secret: &str) {
    let secrets = Secrets::new([secret.to_owned()]);
    for calling in [None, call()] {
        let desk = Desk::new(&secrets);
        if let Some(call) = calling {
            desk.await_next();
            let kind = desk.outgoing(&call);
            desk.written(kind, Ok(()));
        }
        listen(stdout, secret, &desk);
    }
    for from in [0, stdout.len() / 2] {
        let tail = secrets.cut_within(stdout, from..stdout.len());
        assert!(!tail.contains(secret), "the secret is in {tail:?}");
    }
}

fn call() -> Option<TxJsonRpcMessage<RoleClient>> {
    let params = json!({"name": "echo", "_meta": {"progressToken": 1}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    serde_json::from_value(call).ok()
}

fn listen(stdout: &[u8], secret: &str, desk: &Desk) {
    for line in stdout.split_inclusive(|byte| *byte == b'\n') {
        let (noise, _) = message::read(line);
        assert!(line.starts_with(noise), "noise is what a line begins with");
        if wire::hand_out(&mut line.to_vec(), desk).is_err() {
            break;
        }
    }
    let kept = desk.noise_so_far();
    let sample = &kept.sample;
    assert!(!sample.contains(secret), "the secret is in {sample:?}");
    assert!(kept.lines > 0 || sample.is_empty());
}
