//! The binary encoding of Protocol Buffers, as far as OTLP needs it.

/// A message. Members that are empty are left out.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

/// The types of the wire.
const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const LENGTH: u64 = 2;

impl Message {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn text(self, member: u64, text: &str) -> Self {
        self.bytes(member, text.as_bytes())
    }

    pub(super) fn bytes(mut self, member: u64, bytes: &[u8]) -> Self {
        if !bytes.is_empty() {
            self.varint(member << 3 | LENGTH);
            self.varint(bytes.len() as u64);
            self.0.extend(bytes);
        }
        self
    }

    pub(super) fn message(self, member: u64, message: &Self) -> Self {
        self.bytes(member, &message.0)
    }

    /// A member that is repeated.
    pub(super) fn messages(self, member: u64, all: impl Iterator<Item = Self>) -> Self {
        all.fold(self, |message, one| message.message(member, &one))
    }

    pub(super) fn number(mut self, member: u64, number: u64) -> Self {
        self.varint(member << 3 | VARINT);
        self.varint(number);
        self
    }

    /// A number of 8 bytes.
    pub(super) fn eight(mut self, member: u64, bytes: [u8; 8]) -> Self {
        self.varint(member << 3 | EIGHT_BYTES);
        self.0.extend(bytes);
        self
    }

    /// Several numbers of 8 bytes.
    pub(super) fn eights(self, member: u64, all: impl Iterator<Item = [u8; 8]>) -> Self {
        let all: Vec<u8> = all.flatten().collect();
        self.bytes(member, &all)
    }

    /// Seven bits in each byte, the lowest first.
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            let [lowest, ..] = number.to_le_bytes();
            self.0.push(lowest | 0x80);
            number >>= 7;
        }
        let [lowest, ..] = number.to_le_bytes();
        self.0.push(lowest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::hexadecimal;

    fn attribute(name: &str, text: &str) -> Message {
        let value = Message::default().text(1, text);
        Message::default().text(1, name).message(2, &value)
    }

    /// The bytes are those that `opentelemetry-proto` 1.45.2 (Python) makes of the same request.
    #[test]
    fn spans_are_encoded_as_others_encode_them() {
        let name = format!("execute_tool {}", "n".repeat(130));
        let span = Message::default()
            .bytes(
                1,
                &0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes(),
            )
            .bytes(2, &0x00f0_67aa_0ba9_02b7_u64.to_be_bytes())
            .text(3, "a=b")
            .bytes(4, &0xb7ad_6b71_6920_3331_u64.to_be_bytes())
            .text(5, &name)
            .number(6, 3)
            .eight(7, 1_771_898_400_000_000_000_u64.to_le_bytes())
            .eight(8, 1_771_898_400_500_000_000_u64.to_le_bytes())
            .message(9, &attribute("error.type", "tool_error"))
            .message(15, &Message::default().number(3, 2));
        let resource = Message::default().message(1, &attribute("service.name", "oneact"));
        let scope = Message::default().text(1, "oneact").text(2, "0.1.0");
        let of_scope = Message::default().message(1, &scope).message(2, &span);
        let of_resource = Message::default()
            .message(1, &resource)
            .message(2, &of_scope);
        let known = "0aa4020a1a0a180a0c736572766963652e6e616d6512080a066f6e656163741285020a0f0a066f6e65616374\
         1205302e312e3012f1010a104bf92f3577b34da6a3ce929d0e0e4736120800f067aa0ba902b71a03613d6222\
         08b7ad6b71692033312a8f01657865637574655f746f6f6c20{N}300339004015f6340c97184100a5e213350\
         c97184a1a0a0a6572726f722e74797065120c0a0a746f6f6c5f6572726f727a021802";
        let known = known.replace("{N}", &"6e".repeat(130));
        let request = Message::default().message(1, &of_resource);
        assert_eq!(hexadecimal(&request.into_bytes()), known);
    }

    #[test]
    fn metrics_are_encoded_as_others_encode_them() {
        let point = Message::default()
            .eight(2, 1_u64.to_le_bytes())
            .eight(3, 2_u64.to_le_bytes())
            .eight(4, 1_u64.to_le_bytes())
            .eight(5, 0.5_f64.to_le_bytes())
            .eights(6, [1_u64, 0].map(u64::to_le_bytes).into_iter())
            .eights(7, [1.0_f64].map(f64::to_le_bytes).into_iter())
            .message(9, &attribute("oneact.state", "done"))
            .eight(11, 0.5_f64.to_le_bytes())
            .eight(12, 0.5_f64.to_le_bytes());
        let histogram = Message::default().message(1, &point).number(2, 1);
        let metric = Message::default()
            .text(1, "oneact.run.duration")
            .text(3, "s")
            .message(9, &histogram);
        let of_scope = Message::default().message(2, &metric);
        let of_resource = Message::default().message(2, &of_scope);
        let known = "0a8e01128b011288010a136f6e656163742e72756e2e6475726174696f6e1a01734a6e0a6a11010000000000\
         000019020000000000000021010000000000000029000000000000e03f321001000000000000000000000000\
         0000003a08000000000000f03f4a160a0c6f6e656163742e737461746512060a04646f6e6559000000000000\
         e03f61000000000000e03f1001";
        let request = Message::default().message(1, &of_resource);
        assert_eq!(hexadecimal(&request.into_bytes()), known);
    }
}
