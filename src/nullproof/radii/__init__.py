"""How few training cells break one point, or many at once."""
