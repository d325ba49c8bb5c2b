//! Whether the words of a failure give a reason, or only say that something failed.

/// Words that give no reason. The words of JSON keys for errors, of class names, and the codes of JSON-RPC for any error
/// are among them.
const EMPTY: &str = "\
    a abort aborted action again an and any at be been but by call called calling can canceled cancelled cannot \
    client closed code complete completed connection content could couldn crash crashed data detail details did didn \
    disconnected does doesn due during encountered err error errors exception exceptions execute executed executing \
    execution exited fail failed failing fails failure failures false fastmcp fatal fault fetch for from function \
    general generic had handle handling happened has have http i in internal interrupted invocation invoke invoked \
    invoking is issue it its js json jsonrpc later lost main mcp mcpserver message method more msg name nil no none \
    not null object occur occurred of on oops operation or our panic perform performed performing please problem \
    problems process processed processing py raised reason request requests reset response result retry returned rpc \
    run running runtime s see server something sorry status stop stopped success successful successfully t task \
    terminated text that the there this throw thrown to tool tools traceback true try type unable uncaught undefined \
    unexpected unhandled unknown unspecified was we went were when while with without wrong you your 0 32000 32603";

/// Whether a failure text of the tool has a word that says what went wrong.
pub(super) fn is_given(text: &str, tool: &str) -> bool {
    if text.to_lowercase().contains("unknown tool") {
        return true;
    }
    let without_tool = text.replace(tool, " ");
    let chunks = without_tool.split_whitespace().map(class_name);
    let mut words = chunks.flat_map(|chunk| chunk.split(|c: char| !c.is_alphanumeric()));
    words.any(|word| {
        parts(word).any(|part| !EMPTY.split_ascii_whitespace().any(|empty| empty == part))
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

/// Whether a code of JSON-RPC says itself what went wrong: the request could not be read, or was refused unread.
pub(in crate::executor) const fn is_a_reason(code: i64) -> bool {
    matches!(code, -32700 | -32602..=-32600)
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
            "The operation was aborted",
            "shop.errors.Exception",
        ] {
            assert!(!is_given(text, "pay"), "{text}");
        }
    }

    #[test]
    fn a_word_of_the_tools_own_is_a_reason() {
        for text in [
            "card declined",
            "Error executing tool pay: no funds",
            "TimeoutError",
            "HTTP 500",
            "Unknown account",
            "ValueError: 7",
            "Fehler",
            "金额不足",
            "Error 13",
            "Unknown tool: pay",
        ] {
            assert!(is_given(text, "pay"), "{text}");
        }
    }
}
