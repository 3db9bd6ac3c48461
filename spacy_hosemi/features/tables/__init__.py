"""Tables of word attributes: word -> values that features read."""
