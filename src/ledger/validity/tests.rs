//! A test for each reason why an old answer is not good any more.
