"""Labels, encodings, label patterns; what is known of spans, as constraints."""
