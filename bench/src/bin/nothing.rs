//! Does nothing: what any process costs.

fn main() {}
