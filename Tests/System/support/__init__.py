"""What the tests of the running daemon share."""
