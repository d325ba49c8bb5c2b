//! Whether the words of a failure give a reason, or only say that something failed.

/// Words that give no reason. Those of JSON keys for errors, of class names, of pages of errors and of lost connections are
/// among them.
const EMPTY: &str = "\
    a abort aborted action again all an and any api at be been body br broken but by bytes call called calling can \
    canceled cancelled cannot check chunked client closed code complete completed connection contact content context \
    correlation could couldn crash crashed data date desc detail details did didn disconnected div doctype does \
    doesn due during econnaborted econnreset encountered end ended enetreset eof epipe err errno error errors \
    exception exceptions execute executed executing execution exited extensions fail failed failing fails failure \
    failures false fastmcp fatal fault fetch for frame frames from function general generic group h1 had handle \
    handling hang happened has have head host html http hung i id ids in incomplete internal interrupted invocation \
    invoke invoked invoking is issue it its js json jsonrpc lang later line log logs lost main mcp mcpserver message \
    method more msg name network nil no none not null object occur occurred of on one oops operation or os oserror \
    other our p panic path peer perform performed performing pipe please premature prematurely problem problems \
    process processed processing promise promises py raise raised read reason ref reference rejected remote request \
    requests reset response rest result retry returned rpc run running runtime s see sending server side socket \
    something sorry span stack status stop stopped stream strong sub success successful successfully support t task \
    terminated text that the there this throw thrown time timestamp title to tool tools trace traceback true try \
    type unable uncaught undefined unexpected unhandled unknown unspecified up upstream uuid was we went were when \
    while winerror with without wrong you your";

/// Whether a failure text of the tool has a word that says what went wrong. Numbers, ids and times do not.
pub(super) fn is_given(text: &str, tool: &str) -> bool {
    let lower = text.to_lowercase();
    if lower.contains("unknown tool") {
        return true;
    }
    if says_it_ran(&lower) {
        return false;
    }
    let is_frame = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("at ") || line.starts_with("File \"")
    };
    // Servers that are put together of others give the tool a longer name than its own messages do.
    let of_tool: Vec<String> = tool
        .split(|c: char| !c.is_alphanumeric())
        .flat_map(parts)
        .collect();
    let mut lines = text.lines().filter(|line| !is_frame(line));
    lines.any(|line| {
        let mut chunks = line.split(|c: char| c.is_whitespace() || "\"'`()[]{}<>,;=".contains(c));
        chunks.any(|chunk| says(chunk, &of_tool))
    })
}

fn says(chunk: &str, of_tool: &[String]) -> bool {
    if chunk.contains(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let words = class_name(chunk).split(|c: char| !c.is_alphanumeric());
    words.flat_map(parts).any(|part| {
        !of_tool.contains(&part) && !EMPTY.split_ascii_whitespace().any(|empty| empty == part)
    })
}

/// The name of an error class without its module.
fn class_name(chunk: &str) -> &str {
    let name = chunk.trim_end_matches(|c: char| !c.is_alphanumeric());
    let is_class = name.ends_with("Error") || name.ends_with("Exception");
    match name.rsplit_once(['.', ':']) {
        Some((_, class)) if is_class => class,
        _ => chunk,
    }
}

/// What SDKs say, in lower case, if the tool has run and its result cannot be sent.
const RAN: &str = "output validation error;invalid result;invalid structured content;invalid tools/call result;\
    structured_content must;error serializing;json serializable;serialization depth;circular structure;\
    serialize a bigint;operator to search for 'content' in";

fn says_it_ran(lower: &str) -> bool {
    RAN.split(';').any(|sentence| lower.contains(sentence))
}

/// Whether a code of JSON-RPC says itself what went wrong: the request could not be read, or was refused unread.
pub(in crate::executor) fn is_a_reason(code: i64, words: &str) -> bool {
    matches!(code, -32700 | -32602..=-32600) && !says_it_ran(&words.to_lowercase())
}

/// The parts of a name in camel case, in lower case.
fn parts(word: &str) -> impl Iterator<Item = String> {
    let mut parts: Vec<String> = Vec::new();
    let mut chars = word.chars().peekable();
    let mut before = None;
    while let Some(c) = chars.next() {
        let is_lower = |c: &char| c.is_lowercase();
        let begins = c.is_uppercase()
            && (before.as_ref().is_some_and(is_lower) || chars.peek().is_some_and(is_lower));
        match parts.last_mut() {
            Some(part) if !begins => part.extend(c.to_lowercase()),
            _ => parts.push(c.to_lowercase().collect()),
        }
        before = Some(c);
    }
    parts.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_sentences_of_sdks_give_no_reason() {
        for text in [
            "",
            "Error executing tool pay",
            "Error executing tool pay: ",
            "Error calling tool 'pay'",
            "[object Object]",
            "Internal error",
            "Internal server error.",
            "MCP error -32603: Internal error",
            "An unexpected error occurred.",
            "Something went wrong, please try again later!",
            "Tool execution failed",
            "RuntimeError()",
            "mcp.server.mcpserver.exceptions.UnexpectedToolError: Error executing tool pay",
            "fastmcp.exceptions.ToolError: Error calling tool 'pay'",
            r#"{"error":{"code":-32000,"message":"Unknown error"}}"#,
            "undefined",
            "JSONRPCError: Server error",
            "Connection closed",
            "fetch failed",
            "All promises were rejected",
            "Error serializing to JSON: ValueError: Circular reference detected",
            "MCP error -32602: Invalid tools/call result: expected array",
            "unhandled errors in a TaskGroup (1 sub-exception)",
            "MCP error -32602: Output validation error: Invalid structured content for tool pay: [\"amount\"]",
            "The operation was aborted",
            "Internal error (request id: 7f3c2a10-9b1d-4e0f-8a6b-0c1d2e3f4a5b)",
            "2026-11-28T10:00:00.123Z ERROR Internal server error",
            "Error\n    at Object.pay (/srv/shop/bank.js:10:5)\n    at async handle (/srv/shop/main.js:3:1)",
            "Request failed with status code 500",
            "{\"timestamp\":\"2026-11-28T10:00:00Z\",\"status\":500,\"error\":\"Internal Server Error\",\"path\":\"/pay\"}",
            "<html><body><h1>Internal Server Error</h1></body></html>",
            "rpc error: code = Internal desc = internal error",
            "One or more errors occurred.",
            "[Errno 104] Connection reset by peer",
            "read ECONNRESET",
            "socket hang up",
            "Server disconnected without sending a response.",
            "peer closed connection without sending complete message body (incomplete chunked read)",
            "Internal error\n{\"requestId\":\"req_9aZ\",\"traceId\":\"4bf92f35\"}",
            "shop.errors.Exception",
        ] {
            assert!(!is_given(text, "pay"), "{text}");
        }
    }

    #[test]
    fn a_part_of_the_tools_name_gives_no_reason() {
        assert!(!is_given("Error calling tool 'slow': ", "bank_slow"));
        assert!(!is_given("Error executing tool exec", "exec"));
        assert!(!is_given("This operation was aborted", "abort"));
        assert!(is_given("Error calling tool 'slow': no funds", "bank_slow"));
    }

    #[test]
    fn a_word_of_the_tools_own_is_a_reason() {
        for text in [
            "card declined",
            "Error executing tool pay: no funds",
            "TimeoutError",
            "Unknown account",
            "ValueError: 7",
            "Fehler",
            "金额不足",
            "Unknown tool: pay",
        ] {
            assert!(is_given(text, "pay"), "{text}");
        }
    }
}
