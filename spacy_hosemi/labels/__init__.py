"""Labels, their encoding and patterns; what annotation says of them."""
