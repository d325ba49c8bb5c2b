"""Checks a receipt against anchors: check_receipt.py RECEIPT ANCHORS [FILE…], with the standard library alone."""
import hashlib, json, sys

def sha256(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()

def entry_hash(link):
    covered = {name: value for name, value in link.items() if name != "entry_hash"}
    return sha256(json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=False))

def check(holds, what):
    if not holds:
        sys.exit(f"not proven: {what}")

receipt, anchors, *files = (open(path, "rb").read() for path in sys.argv[1:])
receipt, anchors = json.loads(receipt), {json.loads(line)["entry_hash"] for line in anchors.splitlines() if line.strip()}
check((receipt["_type"], receipt["predicateType"]) == ("https://in-toto.io/Statement/v1", "urn:oneact:receipt:v1"), "the type")
check([each["name"] for each in receipt["subject"]] == ["response", "request"], "the subjects")
says, digests = receipt["predicate"], {each["name"]: each["digest"]["sha256"] for each in receipt["subject"]}
body, row, last = json.loads(says["link"]["body"]), json.loads(says["row"]), entry_hash(says["link"])
check(sha256(says["row"]) == body["row"]["row_sha256"], "the row")
check(digests["response"] == body["row"]["response_sha256"], "the response")
check(digests["request"] == body["row"]["request_sha256"], "the request")
facts = [says[name] for name in ("operation_id", "capability", "request_hash", "entry_digest", "state", "effect")]
kept = [row[name] for name in ("operation_id", "action_type", "request_hash", "entry_digest", "state")]
check(facts == kept + [body.get("told", {}).get("effect")], "what it says of the operation")
for number, link in enumerate(says["links"]):
    tied = json.loads(link["body"]).get("tied") if number == 0 and says["tied"] else None
    follows = tied == sha256("".join(f"{each}\n" for each in says["tied"])) and last in says["tied"]
    check(follows if tied else link["prev_hash"] == last, f"link {link['seq']}")
    last = entry_hash(link)
check(last in anchors and last == says["anchor"]["entry_hash"], "the anchor")
check(all(sha256(content) in digests.values() for content in files), "a file")
print(f"proven: {says['operation_id']} {says['capability']}, {says['state']}, effect {says['effect']}")
